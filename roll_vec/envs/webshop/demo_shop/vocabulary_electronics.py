"""Electronics; the format stands in `vocabulary`."""

__all__ = ["ELECTRONICS"]

ELECTRONICS = """
[DEFAULT]
category = electronics
closings =
    {brand} gives two years of warranty and real people on the telephone.
    In the box: everything you see in the pictures, a short guide and our thanks.
    If it does not work with your device, send it back within a month.
    Designed by engineers at {brand} who use it at home themselves.

[hdmi cables]
path = Electronics > Television & Video > Accessories > Cables > HDMI Cables
one = an *hdmi cable
thing = cable
price = 6 38
forms = HDMI Cable | HDMI Cord | HDMI Extension Cable | Mini HDMI Cable
looks = 4K | 8K | Slim | Flexible | Certified
materials = Braided Nylon | Pure Copper | Soft PVC
extras = with Ethernet | with Cable Ties | with Right Angle Plug
uses = for TV | for Game Console | for Projector | for Laptop
tails = 6 ft | 10 ft | Pack of 2 | 3 ft
attributes = high speed | gold plated | ultra hd | plug play | heavy duty | home theater
    long lasting | high definition | easy use | high performance | easy install
options =
    Color: Black | White | Blue | Red | Gray
    Size: 1.5 feet | 3 feet | 6 feet | 10 feet | 15 feet | 25 feet
openers =
    The {brand} {form} carries picture and sound without a flicker.
    One {form} by {brand} replaces the tangle behind your television.
    {brand} builds this {form} from {material} so that it outlives your screen.
facts =
    {material} protects the wires against bends and pets.
    Triple shielding keeps interference out.
    Works with televisions, consoles, players and projectors.
    The connector is short enough for wall mounted screens.
    Backward compatible with older devices.

[earbud headphones]
path = Electronics > Headphones > Earbud Headphones
one = a pair of *earbuds
thing = earbuds
price = 12 110
forms = Wireless Earbuds | In Ear Headphones | Sport Earbuds | Earphones
looks = Comfortable | Slim | Pro | Mini | Deep Bass
materials = Silicone Tip | Memory Foam Tip | Soft Gel Tip
extras = with Microphone | with Ear Hooks | with Volume Control
uses = for Running | for Work | for Android and iOS | for Gym
tails = 30 Hours | 24 Hours | 40 Hours
attributes = noise cancelling | wireless bluetooth | hands free | stereo sound
    water resistant | fast charging | light weight | easy carry | carrying case
    long lasting | video calls | high performance | easy use
options =
    Color: Black | White | Navy Blue | Rose Gold | Mint | Red | Purple
    Style: Ear Hook | Short Stem | Stemless
openers =
    {brand} {form} stay in when you run and sound good when you sit.
    Music, calls and podcasts: these {form} by {brand} do it all.
    The smallest {form} that {brand} has ever made come with the biggest sound.
facts =
    The {material} seals gently and comes in three sizes.
    Touch to pause, skip, answer or call your assistant.
    The charging box gives four more rounds of music.
    Each side works alone, so you can share.
    Tuned by people who listen for a living.

[portable bluetooth speakers]
path = Electronics > Portable Audio & Video > Portable Speakers > Bluetooth Speakers
one = a *bluetooth speaker
thing = speaker
price = 16 150
forms = Bluetooth Speaker | Portable Speaker | Travel Speaker | Party Speaker
looks = Loud | Compact | Rugged | Retro | Colorful
materials = Woven Fabric | Knit Mesh | Matte Rubber
extras = with Strap | with Lights | with FM Radio
uses = for Beach | for Home | for Bike | for Camping
tails = 20 Watt | 24 Hours | Set of 2
attributes = wireless bluetooth | stereo sound | water resistant | hands free | usb port
    easy carry | outdoor use | long lasting | fast charging | perfect gift
    aluminum alloy
    high performance
options =
    Color: Black | Blue | Red | Teal | Gray | Camo | Pink
    Style: Single | Stereo Pair
openers =
    The {brand} {form} fills a room from the corner of a shelf.
    Bring the band along with this {form} by {brand}.
    Big sound, small box: {a_form} from {brand} dressed in {material}.
facts =
    Covered in {material} that feels good and hides scratches.
    Two passive radiators give the bass its weight.
    Link two of them for a wider stage.
    The battery plays from breakfast to midnight.
    A loop hangs it from a tent, a tap or a handlebar.

[phone cases]
path = Cell Phones & Accessories > Cases, Holsters & Sleeves > Basic Cases
one = a *phone case
thing = case
price = 6 36
forms = Phone Case | Bumper Case | Wallet Case | Flip Cover
looks = Slim | Shockproof | Cute | Rugged | Protective
materials = Liquid Silicone | Vegan Leather | Soft TPU | Carbon Fiber
extras = with Card Holder | with Ring Stand | with Lanyard
uses = for Women | for Men | for Teens
tails = 6.1 inch | 6.7 inch | 5.4 inch
attributes = wireless charging | screen protector | heavy duty | non slip | light weight
    eco friendly | perfect gift | easy clean
    hands free
options =
    Color: Black | Navy Blue | Clear | Lavender | Pink | Forest Green | Red
    Marble White
    Size: 5.4 inch | 6.1 inch | 6.5 inch | 6.7 inch
openers =
    The {brand} {form} saves your phone from the pavement.
    Made from {material}, this {form} by {brand} feels better than the phone itself.
    Drop it, pick it up, smile: that is life with {a_form} from {brand}.
facts =
    {material} absorbs shocks, and raised edges guard camera and screen.
    All buttons click as they should and every port is open.
    Slides into tight pockets without catching.
    The inside is lined with soft microfiber.
    Checked with drops from six feet onto concrete.

[power banks]
path = Cell Phones & Accessories > Chargers & Power Adapters > Portable Power Banks
one = a *power bank
thing = power bank
price = 14 85
forms = Power Bank | Portable Charger | Solar Charger | Battery Pack
looks = Slim | Mini | Rugged | Compact | High Capacity
materials = Aluminum Alloy | Fireproof Plastic | Rubber Coated
extras = with Flashlight | with LED Display | with Built in Cable
uses = for Phone | for Tablet | for Camping | for Hiking
tails = 10000 mAh | 20000 mAh | 5000 mAh
attributes = fast charging | usb port | easy carry | light weight
    wireless charging | water resistant | outdoor use | heavy duty | long lasting
    carrying case | high performance
options =
    Color: Black | White | Blue | Orange | Pink | Graphite
    Size: 5000 mAh | 10000 mAh | 20000 mAh | 30000 mAh
openers =
    Never ask for a socket again: the {brand} {form} is full when you are empty.
    {a_form} by {brand} for long days, late trains and forgotten cables.
    The {brand} {form} keeps phone, watch and headphones alive for a weekend.
facts =
    The {material} housing survives falls from table height.
    Four lights show what is left.
    Charges two devices while it is being charged itself.
    Allowed in hand luggage on every airline we know of.
    Protected against overcharge, heat and short circuit.

[tripods]
path = Electronics > Camera & Photo > Tripods & Monopods > Complete Tripods
one = a *tripod
thing = tripod
price = 15 140
forms = Tripod | Camera Tripod | Phone Tripod | Tabletop Tripod
looks = Compact | Flexible | Sturdy | Professional | Foldable
materials = Aluminum Alloy | Carbon Fiber | Magnesium | Steel Tube
extras = with Phone Holder | with Ball Head | with Bubble Level
uses = for Camera | for Vlogging | for Live Streaming | for Travel
tails = 50 inch | 62 inch | 70 inch
attributes = quick release | light weight | easy carry
    heavy duty | remote control | carrying case | non slip | easy setup | video calls
    outdoor use
options =
    Color: Black | Silver | Red | Orange | Blue
    Style: Fluid Head | Ball Head | Legs Only
openers =
    Sharp pictures start with a steady {form}, and {brand} makes a good one.
    The {brand} {form} unfolds in seconds and stands like a rock.
    Group photos with everybody in them: thank this {form} by {brand}.
facts =
    Legs of {material} lock at four heights.
    Rubber feet hold on tiles, grass and sand.
    The head turns all the way around and tilts to both sides.
    Folds down to the length of a lower arm.
    Fits every camera and phone with the usual thread.

[computer keyboards]
path = Electronics > Computers & Accessories > Keyboards, Mice & Accessories > Keyboards
one = a *keyboard
thing = keyboard
price = 15 135
forms = Wireless Keyboard | Mechanical Keyboard | Gaming Keyboard | Compact Keyboard
looks = Quiet | Slim | Ergonomic | Backlit | Retro
materials = Aluminum Alloy | Wood Grain | PBT Keycap
extras = with Mouse | with Wrist Rest | with Number Pad
uses = for Office | for Laptop | for Tablet | for Gaming
tails = 87 Keys | 104 Keys | 61 Keys
attributes = plug play | wireless bluetooth | usb port | easy clean | batteries included
    high performance | light weight | non slip | space saving | easy setup
    water resistant
options =
    Color: Black | White | Pink | Blue | Gray | Purple
    Style: Linear Switch | Tactile Switch | Clicky Switch
openers =
    The {brand} {form} makes long texts feel short.
    Type for hours on this {form} by {brand}, and your wrists will not complain.
    Every press is crisp on the {form} from {brand}.
facts =
    {material} gives the keys a firm and pleasant stop.
    Switch between three computers with one key.
    Two feet at the back set the angle you like.
    Letters are molded in, so they will not fade.
    Spills run off through channels below the keys.

[screen protectors]
path = Cell Phones & Accessories > Accessories > Maintenance > Screen Protectors
one = a *screen protector
thing = protector
price = 5 28
forms = Screen Protector | Screen Guard | Display Protector | Screen Cover
looks = Clear | Anti Glare | Full Coverage | Thin | Privacy
materials = Tempered Glass | Hydrogel | Ceramic | Sapphire Glass
extras = with Alignment Frame | with Camera Cover | with Cleaning Kit
uses = for Phone | for Tablet | for Watch
tails = Pack of 3 | Pack of 2 | 10.9 inch
attributes = easy install | high definition | case friendly | easy clean
    ultra hd | light weight | high quality | heavy duty | long lasting
options =
    Size: 5.4 inch | 6.1 inch | 6.7 inch | 8.3 inch | 10.9 inch
    Style: Front Only | Front and Back
openers =
    The {brand} {form} takes the scratches so that your display does not.
    Thin, clear and tough: {a_form} by {brand}.
    You will not see this {form} from {brand}, and that is the point.
facts =
    The {material} surface keeps fingerprints away.
    Touch works exactly as it did before.
    The frame in the box puts it on straight at the first try.
    Edges are rounded and do not lift.
    Made to fit with most cases.

[security cameras]
path = Electronics > Camera & Photo > Video Surveillance > Surveillance Cameras
one = a *security camera
thing = camera
price = 22 160
forms = Security Camera | Surveillance Camera | Home Camera | WiFi Camera
looks = Smart | Wireless | Mini | Weatherproof
materials = Metal Housing | White Plastic | Dome Glass
extras = with Siren | with Two Way Audio | with Spotlight
uses = for Home | for Pets | for Garage | for Front Door
tails = 1080p | 2K | Pack of 2
attributes = night vision | motion detection | high definition | plug play
    easy install
    easy setup | water resistant | outdoor use | batteries included | wireless bluetooth
    ultra hd | hands free
options =
    Color: White | Black | Gray | Bronze
    Style: 1 Camera Kit | 2 Camera Kit | 4 Camera Kit
openers =
    Know what is going on at home with the {brand} {form}.
    The {form} by {brand} keeps an eye on the door, the dog and the parcels.
    Peace of mind in a small case: {a_form} from {brand}.
facts =
    The {material} resists weather and curious hands.
    Recordings stay on a card at home, not on somebody's server.
    See and speak from your phone wherever you are.
    A wide lens covers the whole room.
    Screws, plugs and a drilling template are included.

[wall chargers]
path = Cell Phones & Accessories > Chargers & Power Adapters > Wall Chargers
one = a *wall charger
thing = charger
price = 8 48
forms = Wall Charger | USB C Charger | Charging Block | Travel Adapter
looks = Compact | Foldable | Universal | Mini | Powerful
materials = Ceramic Coated | Fireproof Plastic | Matte Plastic
extras = with Cable | with Night Light | with Folding Plug
uses = for Phone | for Laptop | for Tablet | for Travel
tails = 20 Watt | 65 Watt | Pack of 2
attributes = fast charging | usb port | travel size | easy carry | light weight
    easy use
    space saving | high speed | high performance | high quality | long lasting
options =
    Color: White | Black | Light Blue | Pink | Silver
    Style: 1 Port | 2 Ports | 4 Ports
openers =
    Small as a matchbox, strong enough for a laptop: the {brand} {form}.
    The {form} by {brand} is the only one you need to pack.
    Plug in the {brand} {form} and get on with your day.
facts =
    The {material} body keeps it cool and small.
    Shares the power sensibly when several devices are connected.
    Works from 100 to 240 volts all over the world.
    Guards against surges and overheating.
    Charges phones, tablets, earphones and watches.

[tv mounts]
path = Electronics > Television & Video > Accessories > TV Mounts, Stands & Turntables
one = a *tv mount
thing = mount
price = 18 130
forms = TV Wall Mount | TV Bracket | TV Mount | Television Mount
looks = Sturdy | Low Profile | Slim | Universal | Reinforced
materials = Cold Rolled Steel | Coated Metal | Alloy Steel
extras = with Level | with Shelf | with Cable Channel
uses = for Flat Screens | for Curved Screens | for Bedroom | for Corner
tails = 32 to 55 inch | 37 to 75 inch | up to 100 lbs
attributes = heavy duty | easy install | space saving | home theater | high quality
    easy assemble | quick release | long lasting | light weight
options =
    Size: 17 to 32 inch | 26 to 55 inch | 37 to 70 inch | 42 to 90 inch
    Style: Fixed | Tilt | Swivel Arm
openers =
    Put the picture where you want it with the {brand} {form}.
    The {form} by {brand} holds the biggest screen as if it were a calendar.
    More room, better angle, no wobble: {a_form} from {brand}.
facts =
    {material} carries three times the stated load.
    Levels to the last degree even after it is on the wall.
    Fits all common hole patterns.
    Screws for wood and concrete are in the bag.
    Clips lead the cables out of sight.
"""

"""What is said of things for the home, and of things of any kind."""

__all__ = ["ELECTRONICS_PHRASES", "GARDEN_PHRASES", "SHARED_PHRASES"]

SHARED_PHRASES = """
[attributes]
high quality = before: is of high quality
    Made to a high quality standard and checked by hand before it leaves us.
    High quality through and through, from the first day to the last.
    The high quality {material} is something you notice as soon as you open the box.
    - Chosen parts and careful work, so nothing has to be replaced after a month.
    - Every batch is inspected twice before packing.
easy use = before: is easy to use
    Easy to use straight from the box, with no manual to study.
    So easy to use that the whole family will reach for it.
    - No training, no tools, no fuss: you will have the knack of it in a minute.
    - Simple enough for beginners and quick enough for experts.
easy clean = before: is easy to clean
    A quick wipe is all it takes, so it stays easy to clean for years.
    Easy to clean, because nobody has time for scrubbing.
    - Wipe with a damp cloth and mild soap, then let it dry.
    - Smooth surfaces leave crumbs and dust nowhere to hide.
easy carry = before: is easy to carry
    Small and light, easy to carry in a handbag, backpack or glove box.
    Easy to carry on the commute, to the gym or on a long weekend.
    - Takes up hardly any room in your bag.
    - Pack it in seconds and go wherever the day takes you.
long lasting = before: is long lasting
    Long lasting by design, not the kind that gives up after a week.
    Customers tell us how long lasting the {thing} turned out to be.
    - Holds up from morning to night and from one season to the next.
    - Made to be enjoyed for a long time, so you buy less often.
heavy duty = before: is heavy duty
    Heavy duty construction shrugs off knocks, drops and daily wear.
    Built heavy duty for people who are hard on their things.
    - Reinforced where it matters most and tested far beyond everyday loads.
    - Will not bend, crack or wobble under pressure.
non slip = before: is non slip
    The non slip underside keeps everything where you put it.
    A non slip texture gives a sure hold even with wet hands.
    - Grips firmly on smooth ground and stays in place.
    - A grippy finish means fewer accidents.
eco friendly = before: is eco friendly
    An eco friendly choice, packed without a gram of plastic.
    Eco friendly from the raw material to the recycled carton.
    - Made with less water and less waste than the usual way.
    - Kinder to the planet, with packaging you can recycle at the kerb.
light weight = before: is light weight
    Surprisingly light weight for something this sturdy.
    The light weight design is comfortable from morning to evening.
    - Weighs so little that you may forget it is there.
    - Every needless gram has been left out.
non toxic = before: is non toxic
    Non toxic and tested by an independent laboratory.
    Only non toxic materials come near your home and your family.
    - Free of harsh chemicals and heavy metals.
    - Safe around children and pets when used as directed.
bpa free = before: is bpa free
    Every part that touches what you eat, drink or apply is BPA free.
    BPA free, so there is no plastic taste and nothing to worry about.
    - Food grade plastic without BPA or phthalates.
    - Certified to contain no bisphenol A.
easy install = before: is easy to install
    Easy to install in minutes with the parts supplied.
    Even if you have never done it before, it is easy to install.
    - Clear pictures lead you through every step.
    - Takes a few minutes from start to finish.
space saving = before: saves space
    A space saving shape that suits small rooms and crowded shelves.
    Space saving when you need it and out of the way when you do not.
    - Uses the room you have instead of the room you wish you had.
    - Leaves more room for everything else.
water resistant = before: is water resistant
    Water resistant, so a splash or a shower of rain does no harm.
    The water resistant surface sheds drops before they soak in.
    - Shrugs off rain, spills and sweat.
    - Sealed seams keep the wet outside.
leak proof = before: is leak proof
    Leak proof even upside down at the bottom of a suitcase.
    The tight seal is leak proof, so your bag stays dry.
    - A silicone ring closes tight and keeps every drop inside.
    - Tested under pressure so that nothing drips in your luggage.
travel size = before: is travel size
    Travel size, so it fits the smallest suitcase.
    The travel size format is ideal for weekends away and the gym locker.
    - Small enough for hand luggage.
    - Takes up no more room than a rolled pair of socks.
double sided = before: is double sided
    The double sided design gives you two looks for the price of one.
    Being double sided, it simply turns over when you want a change.
    - Two different sides, two ways to use it.
    - Flip it and carry on.
stainless steel = with: is made of stainless steel
    Brushed stainless steel resists rust and keeps its shine.
    Stainless steel was chosen because it does not chip, bend or stain.
    - Corrosion free metal that looks new after years of use.
    - Solid metal where others use plastic.
rose gold = with: has a rose gold finish
    A warm rose gold finish makes it pretty enough to leave out.
    The rose gold details catch the light beautifully.
    - A soft metallic blush that goes with everything.
    - Plated twice so that the color does not rub off.
storage case = with: comes with a storage case
    A matching storage case is included and keeps everything together.
    It comes in its own storage case, ready for the drawer or the road.
    - The fitted case keeps dust out and small parts in.
    - Put everything back in its place and close the lid.
tempered glass = with: is made of tempered glass
    Tempered glass resists scratches from keys and coins.
    The tempered glass is polished smooth at every edge.
    - Hardened for strength and clear as water.
    - Thick safety glass with rounded corners.
memory foam = with: has memory foam
    Soft memory foam follows your shape and springs back slowly.
    The memory foam cushions every movement and relieves pressure.
    - Slow rebound padding that molds to you.
    - Comfort you sink into without going flat.
machine washable = before: is machine washable
    Machine washable, so stains are no reason to panic.
    Fully machine washable, which makes family life a little easier.
    - Wash cold on a gentle cycle and lay out to dry.
    - Comes out of the wash like new, time after time.
carrying case = with: comes with a carrying case
    A padded carrying case is part of the set.
    The carrying case with its zipper protects against bumps and scratches.
    - Slip everything into the case and off you go.
    - A loop on the case hangs it from any bag.
perfect gift = before: makes a perfect gift
    The perfect gift for a birthday, a housewarming or simply as a thank you.
    Prettily boxed, the {thing} will be a perfect gift for someone you love.
    - Arrives in a box that needs no wrapping.
    - A present that people really use.
"""

ELECTRONICS_PHRASES = """
[attributes]
fast charging = before: is fast charging
    Fast charging fills half the battery while you take a shower.
    With fast charging, half an hour on the plug lasts all afternoon.
    - Sends as much power as your device can safely take.
high speed = before: is high speed
    High speed transfer moves a film in seconds.
    A high speed connection without dropouts or delay.
    - Up to ten times faster than the previous standard.
gold plated = before: is gold plated
    Gold plated contacts carry a clean signal and never corrode.
    The gold plated ends plug in snugly every time.
    - Noble metal where it counts.
plug play = before: is plug and play
    Plug and play: no driver, no account, no waiting.
    It is plug and play on every common system.
    - Connect it and it works.
noise cancelling = before: is noise cancelling
    Noise cancelling hushes trains, planes and chatty neighbors.
    The noise cancelling microphone lets your voice come through clearly.
    - Turns the outside world down at the press of a button.
case friendly = before: is case friendly
    Case friendly, with a hair's breadth left at every edge.
    The case friendly cut does not lift when you put the phone away.
    - Made to sit under any common cover.
hands free = before: works hands free
    Hands free operation leaves both hands for the things that matter.
    Take calls hands free while you cook or drive.
    - Speak, listen and go on with what you are doing.
wireless bluetooth = before: has wireless bluetooth
    Wireless Bluetooth reaches through two walls.
    Pairs over wireless Bluetooth in three seconds.
    - No cable to untangle, and it remembers eight devices.
high definition = before: is high definition
    A high definition picture shows every leaf on the tree.
    High definition detail, sharp to the corners.
    - Clear, bright and true in color.
high performance = before: is high performance
    High performance parts that do not slow down when it gets busy.
    High performance for work, and plenty left for play.
    - Fast when it has to be and cool when it does not.
easy setup = before: is easy to set up
    Easy setup with a short guide in plain language.
    The easy setup is done before the kettle boils.
    - Three steps and you are ready.
ultra hd = before: supports ultra hd
    Ready for Ultra HD and the screens of the coming years.
    Ultra HD with deep blacks and smooth motion.
    - Four times the detail of an ordinary picture.
batteries included = before: comes with batteries included
    Batteries included, so you can start at once.
    It arrives with batteries included in the box.
    - No trip to the shop before the first use.
usb port = with: has a usb port
    An extra USB port charges a second device at the same time.
    The USB port at the side takes any common cable.
    - One more socket for your phone.
aluminum alloy = with: is made of aluminum alloy
    The aluminum alloy body stays cool and never cracks.
    Milled aluminum alloy, light in the hand and hard to scratch.
    - Metal instead of plastic.
carbon fiber = with: is made of carbon fiber
    Carbon fiber keeps it stiff and saves precious weight.
    Woven carbon fiber, as used in racing bicycles.
    - Strong as steel and far lighter.
stereo sound = with: has stereo sound
    Rich stereo sound with bass that you can feel.
    Real stereo sound from a box no bigger than a cup.
    - Clear voices, crisp highs and a warm low end.
remote control = with: comes with a remote control
    A remote control is included, so you can stay on the couch.
    The slim remote control works from thirty feet away.
    - Everything at the press of a button.
quick release = with: has quick release
    A quick release lever changes the setup in a second.
    Quick release with a safety lock that will not open by itself.
    - On and off with one hand.
motion detection = with: has motion detection
    Smart motion detection tells a person from a passing cat.
    Motion detection sends you a note the moment something moves.
    - Records only when something happens.
night vision = with: has night vision
    Night vision sees forty feet in complete darkness.
    With night vision the back yard is as clear as by day.
    - Invisible infrared light, no glare.
screen protector = with: comes with a screen protector
    A screen protector is part of the kit.
    The matching screen protector guards what the frame does not.
    - Front and back are looked after.
wireless charging = for: works with wireless charging
    Made for wireless charging; there is no need to take it off.
    Wireless charging works straight through the back.
    - Put it on the pad and forget about it.
home theater = for: is good for a home theater
    The missing piece for a home theater that impresses guests.
    Your home theater will thank you.
    - Film night, every night.
video calls = for: is good for video calls
    Video calls look and sound professional.
    Perfect for video calls with family and colleagues.
    - Be seen and heard as you are.
outdoor use = for: can be used outdoors
    Built for outdoor use, from balcony to beach.
    Dust and drizzle are no problem, so outdoor use is welcome.
    - Takes sun, wind and a little sand.
"""

GARDEN_PHRASES = """
[attributes]
easy assemble = before: is easy to assemble
    Easy to assemble in a quarter of an hour with the tool in the box.
    All parts are numbered, which makes it easy to assemble alone.
    - Few parts, clear pictures, no swearing.
assembly required = before: needs only some assembly
    A little assembly required; the legs go on with a few turns.
    Assembly required, tools included, patience not.
    - Put the legs on and you are done.
mid century = before: is mid century
    Mid century lines that never go out of fashion.
    A mid century look with tapered shapes and warm tones.
    - Looks like a find from the flea market, without the search.
contemporary design = with: has a contemporary design
    A contemporary design that leaves room for your own ideas.
    The contemporary design goes with old and new furniture alike.
    - Clean lines and nothing superfluous.
ready hang = before: is ready to hang
    Ready to hang, with hooks already fixed to the back.
    It comes ready to hang, so all you need is a nail.
    - Hardware and a small level are included.
ready use = before: is ready to use
    Ready to use as soon as it is out of the carton.
    Unwrap it and it is ready to use.
    - Nothing to build, cut or glue.
high density = before: is high density
    High density filling that does not sag in the middle.
    High density and resilient, year after year.
    - Thick, even and firm where you need it.
button tufted = before: is button tufted
    Button tufted by hand for a classic look.
    The button tufted surface keeps its pattern for years.
    - Deep buttons, neat folds.
super soft = before: is super soft
    Super soft to the touch, like a kitten in winter.
    So super soft that guests cannot keep their hands off.
    - Brushed twice for a velvety feel.
fade resistant = before: is fade resistant
    Fade resistant dyes keep their depth in bright sunlight.
    Fade resistant, wash after wash and summer after summer.
    - The color stays where it is.
scratch resistant = before: is scratch resistant
    The scratch resistant surface forgives keys, cups and toys.
    Scratch resistant enough for a home with children.
    - A hard coat against everyday marks.
energy efficient = before: is energy efficient
    Energy efficient, which your bill will show.
    An energy efficient choice for rooms in daily use.
    - Saves power without saving on comfort.
lead free = before: is lead free
    Lead free and safe indoors.
    Only lead free materials are used, wick and glaze included.
    - Tested for heavy metals.
hand crafted = before: is hand crafted
    Hand crafted by people who sign their work.
    Each piece is hand crafted and slightly different from the next.
    - No two are quite the same.
solid wood = with: is made of solid wood
    Solid wood with a grain that no printer can copy.
    Made of solid wood from managed forests.
    - Real timber, not paper on chipboard.
engineered wood = with: is made of engineered wood
    Engineered wood does not warp in damp weather.
    Stable engineered wood, sealed on every side.
    - Straight today and straight in ten years.
faux leather = with: is made of faux leather
    The faux leather looks rich and wipes clean.
    Supple faux leather without the cow.
    - Resists stains and cat claws.
steel frame = with: has a steel frame
    A welded steel frame carries more than you will ever ask of it.
    The powder coated steel frame does not rust or creak.
    - Metal inside for people who lean back.
metal legs = with: has metal legs
    Slender metal legs with felt pads protect your floor.
    The metal legs can be adjusted on uneven ground.
    - Four feet that stand firmly.
storage space = with: has storage space
    Hidden storage space takes in what should not lie around.
    It offers plenty of storage space for blankets, games and chargers.
    - A place for everything.
lumbar support = with: has lumbar support
    Lumbar support keeps your lower back happy until closing time.
    The lumbar support moves up and down to where you need it.
    - Sit up straight without thinking about it.
soy wax = with: is made of soy wax
    Soy wax burns slowly and leaves no soot.
    Poured from pure soy wax in small batches.
    - Clean, even and slow.
living room = for: suits a living room
    It gives the living room the finishing touch.
    Equally handsome in the living room and the guest room.
    - Where the family sits together.
dining room = for: suits a dining room
    A welcome addition to the dining room.
    The dining room looks ready for company.
    - For long dinners with good friends.
home office = for: suits a home office
    A home office you will actually like to sit in.
    Made for the home office, where comfort is work.
    - Looks good behind you on camera.
small spaces = for: suits small spaces
    Designed for small spaces such as studios and dorm rooms.
    Small spaces look larger with the right furniture.
    - Slim enough for the narrowest corner.
home decoration = for: is good for home decoration
    Home decoration that does not look like everybody else's.
    A piece of home decoration with a story.
    - A fresh accent for a tired room.
"""

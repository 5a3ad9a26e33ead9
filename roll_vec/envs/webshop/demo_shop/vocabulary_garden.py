"""Home and garden products; the format stands in `vocabulary`."""

__all__ = ["GARDEN"]

GARDEN = """
[DEFAULT]
category = garden
closings =
    {brand} sends it in sturdy cardboard, with spare parts for the rest of its life.
    Please measure twice before you order; colors may look different on your screen.
    If anything arrives damaged, a photograph is enough and {brand} replaces it.
    Made for homes in which people live, cook, play and fall asleep on the couch.

[console tables]
path = Home & Kitchen > Furniture > Accent Furniture > Tables > Console Tables
one = a *console table
thing = table
price = 48 290
forms = Console Table | Entryway Table | Sofa Table | Hallway Table
looks = Modern | Farmhouse | Narrow | Industrial | Rustic
materials = Bamboo | Solid Wood | Engineered Wood | Tempered Glass
extras = with Drawers | with Shelf | with Power Outlets
uses = for Hallway | for Entrance | behind Couch
tails = 39 inch | 47 inch | 2 Tier | 3 Tier
attributes = easy assemble | assembly required | space saving | storage space
    living room
    steel frame | metal legs | contemporary design / mid century | small spaces
    easy clean
    scratch resistant | heavy duty
options =
    Color: Walnut | White | Black | Espresso | Rustic Brown | Light Oak
    Size: 31 inch | 39 inch | 47 inch | 55 inch
openers =
    The {brand} {form} gives keys, mail and flowers a place of their own.
    Slim where it has to be, this {form} by {brand} is made of {material}.
    First impressions count, so put {a_form} from {brand} by the door.
facts =
    The top of {material} carries up to 120 pounds.
    Adjustable feet make up for crooked floors.
    A strap for fixing it to the wall is included.
    Room below for baskets, boots or a sleeping dog.
    Wipe with a dry cloth; use coasters under hot cups.

[decorative pillows]
path = Home & Kitchen > Bedding > Decorative Pillows > Throw Pillow Covers
one = a *decorative pillow cover
thing = cover
price = 8 39
forms = Throw Pillow Cover | Decorative Pillow Case | Cushion Cover | Pillow Sham
looks = Boho | Striped | Geometric | Solid | Farmhouse
materials = Cotton Linen | Velvet | Corduroy | Chenille
extras = with Tassels | with Hidden Zipper | with Piping
uses = for Couch | for Bed | for Bench
tails = Pack of 2 | Set of 4 | 18 x 18 inch
attributes = super soft | machine washable | double sided | living room | fade resistant
    home decoration | eco friendly | perfect gift | high quality | hand crafted
    easy clean
options =
    Color: Beige | Teal | Mustard Yellow | Gray | Rust | Navy Blue | Ivory | Sage Green
    Size: 12 x 20 inch | 16 x 16 inch | 18 x 18 inch | 20 x 20 inch | 24 x 24 inch
openers =
    {a_form} by {brand} is the quickest way to a new room.
    {material} gives the {brand} {form} its depth and its soft hand.
    Mix and match: the {form} from {brand} comes in colors that get along.
facts =
    {material} on the front, a plain weave on the back.
    The zipper is hidden and runs smoothly.
    Double stitched seams survive pillow fights.
    Cover only; the insert is sold separately.
    Choose an insert one size larger for a plump look.

[mattress toppers]
path = Home & Kitchen > Bedding > Mattress Pads & Toppers > Mattress Toppers
one = a *mattress topper
thing = topper
price = 45 230
forms = Mattress Topper | Mattress Pad | Bed Topper | Mattress Cover
looks = Plush | Cooling | Quilted | Extra Thick | Luxury
materials = Memory Foam | Latex | Bamboo Rayon | Down Alternative
extras = with Cover | with Deep Pocket | with Elastic Straps
uses = for Back Pain | for Side Sleepers | for Guest Bed
tails = 2 inch | 3 inch | 4 inch
attributes = high density | non slip | machine washable | super soft | ready use
    easy clean | non toxic | high quality | long lasting | eco friendly
options =
    Size: Twin | Twin XL | Full | Queen | King
    Style: 2 Inch | 3 Inch | 4 Inch
openers =
    Keep the bed and change the feeling with {a_form} by {brand}.
    The {brand} {form} turns a hard guest bed into a good night.
    {material} at the right thickness: that is the {form} from {brand}.
facts =
    {material} lets air through and does not trap heat.
    Arrives rolled and reaches its full height within two days.
    Straps at the corners hold it on mattresses up to fifteen inches.
    The cover comes off for washing.
    Try it for a month and sleep on your decision.

[window curtains]
path = Home & Kitchen > Home Decor Products > Window Treatments > Curtains & Drapes
one = a pair of *window curtains
thing = curtains
price = 15 85
forms = Window Curtains | Window Drapes | Curtain Panels | Window Treatments
looks = Elegant | Blackout | Printed | Textured | Thermal
materials = Linen Blend | Velvet | Polyester Weave | Cotton Voile
extras = with Grommets | with Rod Pocket | with Tiebacks
uses = for Bedroom | for Kitchen | for Nursery | for Sliding Door
tails = 2 Panels | 84 inch Long | 63 inch Long
attributes = machine washable | energy efficient | living room | dining room
    super soft
    fade resistant | easy install | eco friendly | high quality | home decoration
    ready hang
options =
    Color: White | Gray | Navy Blue | Beige | Teal | Burgundy | Dark Green
    Size: 42 x 63 inch | 52 x 63 inch | 52 x 84 inch | 52 x 95 inch | 52 x 108 inch
openers =
    {brand} {form} soften the light and quiet the street.
    Tall windows or small ones: {form} by {brand} make them look dressed.
    Made of {material}, these {form} from {brand} fall in even folds.
facts =
    {material} hangs well and needs hardly any ironing.
    The rings slide over any rod up to an inch and a half thick.
    Keeps the warmth in during winter and out in summer.
    The hem is weighted so that it does not flutter.
    Two panels come in a pack; the rod does not.

[wall art]
path = Home & Kitchen > Wall Art > Posters & Prints
one = a piece of *wall art
thing = picture
price = 12 120
forms = Wall Art | Wall Picture | Art Print | Wall Decor
looks = Abstract | Botanical | Vintage | Minimalist | Watercolor
materials = Cotton Canvas | Birch Panel | Acrylic | Art Paper
extras = with Floating Frame | with Hooks | with Mat
uses = for Bedroom | for Bathroom | for Office | for Nursery
tails = 16 x 24 inch | Set of 3 | 12 x 16 inch
attributes = ready hang | living room | dining room | home office | home decoration
    fade resistant | perfect gift | hand crafted | easy install | eco friendly
    high quality
    mid century
options =
    Pattern Name: Blue Lake | Green Leaves | Gold Lines | Gray Dunes | Pink Peonies
    Red Poppies
    Size: 8 x 10 inch | 12 x 16 inch | 16 x 20 inch | 24 x 36 inch
openers =
    An empty wall is an invitation, and this {form} by {brand} accepts it.
    {brand} prints this {form} with inks made to last a century.
    {a_form} from {brand} that your guests will ask about.
facts =
    Printed on {material} with twelve colors.
    Edges are finished by hand and safe to touch.
    Looks good alone and better in a group.
    Wrapped in thick board so that it arrives unharmed.
    Colors may differ a little from what your screen shows.

[home office chairs]
path = Home & Kitchen > Furniture > Home Office Furniture > Home Office Chairs
one = an *office chair
thing = chair
price = 70 320
forms = Office Chair | Desk Chair | Task Chair | Ergonomic Chair
looks = Adjustable | High Back | Swivel | Executive | Modern
materials = Breathable Mesh | Faux Leather | Woven Fabric | Velvet
extras = with Headrest | with Footrest | with Cushion
uses = for Desk | for Gaming | for Teens | for Tall People
tails = 300 lbs | 250 lbs | with Wheels
attributes = lumbar support | easy assemble | high density | heavy duty | steel frame
    space saving | easy clean | contemporary design
    memory foam | long lasting
options =
    Color: Black | Gray | White | Navy Blue | Pink | Brown
    Style: No Arms | Fixed Arms | Folding Arms
openers =
    Eight hours feel like six on the {brand} {form}.
    The {form} by {brand} moves with you instead of against you.
    Your back will vote for this {form} from {brand}.
facts =
    The {material} seat is comfortable, even in August.
    Seat height, tilt and tension adjust in seconds.
    Quiet casters roll over carpet and hardwood.
    The wide base does not tip when you reach for the printer.
    Comes with a spare wheel and all tools.

[ottomans]
path = Home & Kitchen > Furniture > Living Room Furniture > Ottomans
one = an *ottoman
thing = ottoman
price = 28 160
forms = Ottoman | Storage Ottoman | Foot Stool | Ottoman Bench
looks = Round | Folding | Cube | Square | Upholstered
materials = Faux Leather | Linen Fabric | Velvet | Teddy Fleece
extras = with Tray | with Removable Lid | with Piping
uses = for Bedroom | for Entryway | for Couch | for Dorm
tails = 15 inch | 30 inch | Set of 2
attributes = storage space | space saving | easy assemble | living room | small spaces
    high density | button tufted | memory foam | easy clean | metal legs | mid century
    heavy duty
options =
    Color: Gray | Beige | Teal | Brown | Black | Ivory | Wine Red
    Size: 15 inch | 24 inch | 30 inch | 43 inch
openers =
    Feet up: the {brand} {form} is a seat, a table and a hiding place.
    Covered in {material}, the {form} by {brand} suits any sofa.
    {a_form} from {brand} for rooms that have to do many jobs.
facts =
    {material} is stretched tight and stapled from below.
    Holds up to 250 pounds when you sit on it.
    The lid closes softly and spares small fingers.
    Light enough to move with one hand.
    Pads below protect the floor.

[storage baskets]
path = Home & Kitchen > Storage & Organization > Baskets, Bins & Containers > Baskets
one = a *storage basket
thing = basket
price = 10 58
forms = Storage Basket | Laundry Basket | Storage Bin | Toy Basket
looks = Woven | Foldable | Round | Decorative
materials = Cotton Rope | Seagrass | Felt | Wicker
extras = with Handles | with Lid | with Liner
uses = for Closet | for Nursery | for Blankets | for Shelves
tails = Set of 3 | Pack of 2 | 14 inch
attributes = space saving | storage space | eco friendly | hand crafted | living room
    heavy duty | easy clean | easy carry | home decoration | non toxic | light weight
    small spaces
options =
    Color: White | Gray | Brown | Beige | Black | Jute Natural
    Size: Small | Medium | Large | X-Large
openers =
    Tidy in a minute: throw it all into the {brand} {form}.
    The {form} by {brand} is made of {material} and made to be seen.
    Toys, towels, yarn: one {form} from {brand} takes them all.
facts =
    {material} is soft outside and firm enough to stand alone.
    Collapses flat when not needed.
    Strong grips take thirty pounds without tearing.
    Smells of nothing and sheds no fibers.
    Fits standard shelves and the back of the car.

[table lamps]
path = Tools & Home Improvement > Lighting & Ceiling Fans > Lamps & Shades > Table Lamps
one = a *table lamp
thing = lamp
price = 19 120
forms = Table Lamp | Bedside Lamp | Desk Lamp | Night Stand Lamp
looks = Dimmable | Modern | Small | Vintage | Touch
materials = Ceramic | Stainless Steel | Frosted Glass | Bamboo
extras = with Linen Shade | with Pull Chain | with Charging Socket
uses = for Bedroom | for Reading | for Kids Room
tails = 14 inch | Set of 2 | 22 inch
attributes = energy efficient | living room | home office | mid century | usb port
    contemporary design | easy install | easy clean | perfect gift | ready use
    space saving | lead free
options =
    Color: White | Bronze | Black | Gold | Sage Green | Navy Blue
    Style: Round Shade | Drum Shade | Cone Shade
openers =
    The {brand} {form} throws a warm circle on your evening.
    {material} and light get along well in this {form} by {brand}.
    Read one more chapter under {a_form} from {brand}.
facts =
    The base of {material} is heavy enough not to tip.
    Takes any common bulb up to sixty watts.
    Three steps of light, from night light to work light.
    The shade softens the glare and spreads it evenly.
    The cord is five feet long with a switch in reach.

[area rugs]
path = Home & Kitchen > Home Decor Products > Area Rugs, Runners & Pads > Area Rugs
one = an *area rug
thing = rug
price = 24 290
forms = Area Rug | Runner Rug | Accent Rug | Floor Rug
looks = Persian | Moroccan | Fluffy | Faded | Washable
materials = Wool Blend | Microfiber | Polypropylene | Cotton
extras = with Fringe | with Rug Pad | with Border
uses = for Bedroom | for Hallway | for Kitchen | under Table
tails = 5 x 7 feet | 8 x 10 feet | 4 x 6 feet
attributes = non slip | machine washable | easy clean | living room | dining room
    super soft | fade resistant | home decoration | eco friendly
options =
    Color: Ivory | Blue | Gray | Rust | Teal | Charcoal | Beige | Green
    Size: 2 x 3 feet | 3 x 5 feet | 5 x 7 feet | 6 x 9 feet | 8 x 10 feet
openers =
    The {brand} {form} pulls the room together from below.
    Bare feet will love this {form} by {brand}, made of {material}.
    {a_form} from {brand} hides crumbs, warms toes and looks good doing it.
facts =
    {material} stands up to pets, chairs and traffic.
    Vacuum without the beater bar and turn it twice a year.
    Edges are bound so that they do not curl or fray.
    Lies flat within a day of unrolling.
    Quiet underfoot, kind to the neighbors below.

[scented candles]
path = Home & Kitchen > Home Decor Products > Candles & Holders > Candles > Jar Candles
one = a *scented candle
thing = candle
price = 8 42
forms = Scented Candle | Jar Candle | Candle Gift Set | Aromatherapy Candle
looks = Handmade | Relaxing | Large | Festive | Calming
materials = Beeswax | Soy Wax | Coconut Wax
extras = with Wooden Wick | with Lid | with Gift Box
uses = for Bath | for Women | for Meditation
tails = 8 oz | 14 oz | Set of 4 | 50 Hours
attributes = lead free | long lasting | eco friendly | perfect gift | hand crafted
    living room | non toxic | high quality | home decoration | ready use
options =
    Scent: Vanilla | Lavender | Sea Salt | Cedar Wood | Apple Pie | Rose
    Size: 4 ounce | 8 ounce | 14 ounce | 22 ounce
openers =
    Light the {brand} {form} and let the day go.
    {a_form} by {brand}, poured by hand from {material}.
    The room smells of good decisions with {a_form} from {brand}.
facts =
    {material} burns cleanly down to the last half inch.
    Let the whole surface melt the first time for an even burn.
    The glass is pretty enough to keep as a tumbler.
    Trim the wick to a quarter inch before each use.
    Fills a room without giving anyone a headache.

[bar stools]
path = Home & Kitchen > Furniture > Game & Recreation Room Furniture > Bar Stools
one = a set of *bar stools
thing = stools
price = 55 280
forms = Bar Stools | Counter Stools | Kitchen Stools | Barstools
looks = Swivel | Modern | Upholstered | Stackable | Rustic
materials = Faux Leather | Solid Wood | Velvet | Rattan
extras = with Backs | with Footrest | with Cushions
uses = for Kitchen Island | for Home Bar | for Counter
tails = Set of 2 | Set of 4 | 24 inch | 30 inch
attributes = easy assemble | assembly required | steel frame | metal legs | dining room
    space saving | heavy duty | high density | mid century / contemporary design
    easy clean
    button tufted
options =
    Color: Brown | Black | White | Gray | Cream
    Size: 24 inch | 26 inch | 30 inch
openers =
    {brand} {form} make the kitchen counter the best seat in the house.
    Pull up a chair: {form} by {brand} with seats of {material}.
    Breakfast, homework, late talks: these {form} from {brand} see it all.
facts =
    Seats of {material} with padding two inches deep.
    A rail at the right height rests your feet.
    Each one holds 280 pounds without complaint.
    Felt pads keep the floor free of scratches.
    Tuck them under the counter when you are done.
"""

"""Clothing, shoes and what goes with them; the format stands in `vocabulary`."""

__all__ = ["FASHION"]

FASHION = """
[DEFAULT]
category = fashion
closings =
    {brand} pays for the return if the size is not the right one.
    Colors can look a little different from one screen to the next.
    Designed in the small studio of {brand} and sewn by people with fair contracts.
    Please read the care label once; it will repay you with years of wear.

[women's dresses]
path = Clothing, Shoes & Jewelry > Women > Clothing > Dresses > Casual
one = a *women's dress
thing = dress
price = 18 88
forms = Women's Midi Dress | Women's Maxi Dress | Women's Wrap Dress
    Women's Shirt Dress
looks = Floral | Casual | Elegant | Pleated | Boho
materials = Polyester Spandex | Cotton Spandex | Rayon | Linen
extras = with Pockets | with Belt | with V Neck
uses = for Summer | for Work | for Wedding Guest | for Vacation
tails = Plus Size | Petite
attributes = machine wash | hand wash | daily wear | special occasions | high waist
    long sleeve / short sleeve | elastic waist / button closure | quick drying
    relaxed fit / slim fit | tummy control | teen girls | light weight
options =
    Color: Black | Navy Blue | Wine Red | Olive Green | White | Dusty Pink | Yellow
    Size: Small | Medium | Large | X-Large | XX-Large
openers =
    The {brand} {form} is what you reach for when nothing else will do.
    {material} and a generous skirt make this {form} by {brand} a pleasure to wear.
    Put on the {form} from {brand}, add shoes and you are done.
facts =
    {material} falls softly and does not cling.
    The pockets are real and deep enough for a phone.
    Wear it with sneakers by day and heels at night.
    The model is five foot nine and wears a small.
    Please see the size chart before you order.

[women's pumps]
path = Clothing, Shoes & Jewelry > Women > Shoes > Pumps
one = a pair of *women's pumps
thing = pumps
price = 24 95
forms = Women's Pumps | Women's Heels | Women's Dress Shoes | Women's Court Shoes
looks = Pointed | Classic | Elegant | Comfortable | Chic
materials = Patent Leather | Suede | Satin | Vegan Leather
extras = with Bow | with Block Heel | with Buckle
uses = for Wedding | for Office | for Evening Party
tails = 2 inch Heel | 3 inch Heel | Wide Width
attributes = rubber sole | memory foam | slip resistant | day comfort | ankle strap
    closed toe / open toe | arch support | daily wear | special occasions | high quality
    light weight
options =
    Color: Black | Nude | Red | Navy Blue | Silver | Champagne | Leopard
    Size: 5 | 5.5 | 6 | 6.5 | 7 | 7.5 | 8 | 8.5 | 9 | 9.5 | 10
openers =
    {brand} {form} for people who walk to the party and dance when they get there.
    Timeless {form} by {brand} with an upper of {material}.
    These {form} from {brand} look like pain and feel like slippers.
facts =
    The upper of {material} is cut from one piece.
    The heel is set well back, so you stand safely.
    A padded insole spares the ball of the foot.
    Order half a size up for wide feet.
    Packed in a cotton bag that travels well.

[men's t-shirts]
path = Clothing, Shoes & Jewelry > Men > Clothing > Shirts > T-Shirts
one = a *men's t-shirt
thing = shirt
price = 9 38
forms = Men's T-Shirt | Men's Tee | Men's Henley Shirt | Men's Crew Neck Shirt
looks = Classic | Graphic | Vintage | Heavyweight | Striped
materials = Combed Cotton | Cotton Spandex | Bamboo Viscose | Polyester Blend
extras = with Pocket | with Logo | without Tag
uses = for Summer | for Work | for Dad | for Running
tails = Pack of 3 | Big and Tall | Pack of 2
attributes = machine wash | tumble dry | moisture wicking | daily wear | gym workout
    long sleeve / short sleeve | slim fit / relaxed fit / regular fit | quick drying
    light weight | perfect gift | high quality
options =
    Color: Black | White | Navy Blue | Heather Gray | Olive Green | Burgundy
    Royal Blue
    Size: Small | Medium | Large | X-Large | XX-Large | 3X-Large
openers =
    The {brand} {form} is the one that never makes it back into the drawer.
    Plain, good and made of {material}: {a_form} by {brand}.
    Buy the {form} from {brand} once and you will be back for more.
facts =
    {material} gets softer with every wash.
    No label at the neck, so nothing scratches.
    Flat seams at the shoulder do not chafe under a backpack.
    Pre-shrunk: it stays the size you bought.
    The collar keeps its shape.

[men's loafers]
path = Clothing, Shoes & Jewelry > Men > Shoes > Loafers & Slip-Ons
one = a pair of *men's loafers
thing = loafers
price = 26 120
forms = Men's Loafers | Men's Slip On Shoes | Men's Driving Shoes | Men's Boat Shoes
looks = Casual | Classic | Breathable | Moc Toe | Penny
materials = Full Grain Leather | Suede | Canvas | Knit Mesh
extras = with Tassel | with Stitching | with Padded Collar
uses = for Driving | for Office | for Walking
tails = Wide Width | Extra Wide
attributes = rubber sole | memory foam | slip resistant | day comfort | arch support
    daily wear | light weight | closed toe | high quality | long lasting
    water resistant
options =
    Color: Black | Brown | Navy Blue | Khaki | Gray | Wine Red
    Size: 7 | 8 | 8.5 | 9 | 9.5 | 10 | 10.5 | 11 | 12 | 13
openers =
    Slip into {brand} {form} and leave the shoehorn at home.
    {form} by {brand} in {material}, dressed up or down.
    From desk to dinner in {form} from {brand}.
facts =
    {material} is stitched by hand around the toe.
    The insole comes out and can be replaced.
    Bends with the foot from the first day.
    Brush off dust and treat with cream twice a year.
    Best worn with no-show socks or none.

[women's sweaters]
path = Clothing, Shoes & Jewelry > Women > Clothing > Sweaters > Pullovers
one = a *women's sweater
thing = sweater
price = 19 85
forms = Women's Sweater | Women's Pullover | Women's Knit Top
    Women's Turtleneck Sweater
looks = Chunky | Oversized | Cable Knit | Soft | Striped
materials = Merino Wool | Cotton Knit | Cashmere Blend | Soft Acrylic
extras = with Pockets | with Balloon Sleeves | with Ribbed Cuffs
uses = for Fall | for Work | for Winter | for Layering
tails = Tunic Length | Plus Size | Petite
attributes = long sleeve | hand wash | machine wash | winter warm
    relaxed fit / slim fit
    daily wear | teen girls | high quality | perfect gift
options =
    Color: Cream | Camel | Black | Rust | Sage Green | Lavender | Heather Gray
    Size: X-Small | Small | Medium | Large | X-Large | XX-Large
openers =
    The {brand} {form} is a hug in {material}.
    Cold mornings are a good excuse for {a_form} by {brand}.
    One {form} from {brand}, jeans, boots: autumn can begin.
facts =
    {material} keeps the warmth and lets you breathe.
    Dropped shoulders and a loose neck make it easy to layer.
    Knitted in one go, without a seam at the side.
    Does not pill when treated kindly.
    Fold it, do not hang it.

[men's shorts]
path = Clothing, Shoes & Jewelry > Men > Clothing > Shorts > Casual
one = a pair of *men's shorts
thing = shorts
price = 14 52
forms = Men's Shorts | Men's Cargo Shorts | Men's Gym Shorts | Men's Board Shorts
looks = Casual | Stretch | Athletic | Classic | Plaid
materials = Cotton Twill | Ripstop Nylon | French Terry | Polyester Spandex
extras = with Pockets | with Liner | with Belt Loops
uses = for Summer | for Hiking | for Golf | for Beach
tails = 7 inch Inseam | 9 inch Inseam | Pack of 2
attributes = machine wash | elastic waist / zipper closure / button closure
    drawstring closure | quick drying | moisture wicking | gym workout | daily wear
    relaxed fit / regular fit / slim fit | light weight | uv protection | tumble dry
options =
    Color: Khaki | Navy Blue | Black | Charcoal | Olive Green | Light Blue | Camo
    Size: 30 | 32 | 34 | 36 | 38 | 40
openers =
    {brand} {form} are for the months with long evenings.
    {material} and honest stitching: {form} by {brand}.
    Beach, grill, garden: these {form} from {brand} are never wrong.
facts =
    {material} dries fast and takes a lot of abuse.
    Deep pockets with a flap keep keys and cards safe.
    The gusset gives freedom for steps and bike rides.
    Ends just above the knee.
    Colors stay true after many washes.

[women's leggings]
path = Clothing, Shoes & Jewelry > Women > Clothing > Leggings
one = a pair of *women's leggings
thing = leggings
price = 12 58
forms = Women's Leggings | Women's Yoga Pants | Women's Running Tights
    Women's Workout Pants
looks = Seamless | Buttery | Printed | Opaque | Athletic
materials = Polyester Spandex | Cotton Spandex | Nylon Blend | Bamboo Viscose
extras = with Pockets | with Mesh Panels | with Wide Waistband
uses = for Yoga | for Running | for Cycling
tails = 25 inch Inseam | 28 inch Inseam | Pack of 3
attributes = high waist | tummy control | moisture wicking | quick drying | gym workout
    machine wash | daily wear | teen girls | tumble dry | high quality | light weight
options =
    Color: Black | Navy Blue | Plum | Charcoal Gray | Teal | Wine Red | Leopard
    Size: X-Small | Small | Medium | Large | X-Large
openers =
    {brand} {form} stay up, stay opaque and stay soft.
    Stretch as far as you like in {form} by {brand}.
    {material} that moves like skin: {form} from {brand}.
facts =
    {material} passes the squat test in every color.
    A phone fits the side pocket and does not bounce.
    Flat seams never rub, even on long runs.
    The gusset adds freedom where it is needed.
    Wash inside out to keep them smooth.

[women's fashion sneakers]
path = Clothing, Shoes & Jewelry > Women > Shoes > Fashion Sneakers
one = a pair of *women's sneakers
thing = sneakers
price = 22 98
forms = Women's Sneakers | Women's Walking Shoes | Women's Tennis Shoes
    Women's Trainers
looks = Casual | Breathable | Platform | Retro | Low Top
materials = Canvas | Knit Mesh | Vegan Leather | Recycled Polyester
extras = with Elastic Laces | with Air Cushion | with Glitter
uses = for Walking | for Nurses | for Travel
tails = Wide Width | Half Sizes
attributes = rubber sole | memory foam | arch support | slip resistant | day comfort
    lace closure | light weight | daily wear | teen girls | quick drying | eco friendly
    gym workout
options =
    Color: White | Black | Pink | Gray | Navy Blue | Rose Gold | Mint Green
    Size: 5 | 6 | 6.5 | 7 | 7.5 | 8 | 8.5 | 9 | 10 | 11
openers =
    Ten thousand steps are a short walk in {brand} {form}.
    {form} by {brand}, light as a feather and made of {material}.
    Jeans, dress or scrubs: these {form} from {brand} go with them all.
facts =
    {material} lets the feet breathe.
    The insole returns the energy of every step.
    Padded at the heel, so there is no breaking in.
    Clean with a damp cloth and air dry.
    True to size; choose the larger one between two.

[men's jackets]
path = Clothing, Shoes & Jewelry > Men > Clothing > Jackets & Coats > Lightweight
one = a *men's jacket
thing = jacket
price = 32 170
forms = Men's Jacket | Men's Bomber Jacket | Men's Windbreaker | Men's Coat
looks = Casual | Military | Packable | Windproof | Insulated
materials = Waxed Cotton | Softshell | Recycled Fleece | Nylon Taffeta
extras = with Hood | with Inner Pocket | with Ribbed Collar
uses = for Fall | for Hiking | for Fishing | for Winter
tails = Big and Tall | Regular Length
attributes = water resistant | winter warm | zipper closure / button closure | faux fur
    machine wash | hand wash | light weight | regular fit / slim fit / relaxed fit
    daily wear | quick drying | long sleeve
options =
    Color: Black | Army Green | Navy Blue | Khaki | Charcoal | Burgundy
    Size: Small | Medium | Large | X-Large | XX-Large | 3X-Large
openers =
    Weather is only an opinion in the {brand} {form}.
    {material} outside, calm inside: the {form} by {brand}.
    Wear the {form} from {brand} over a shirt now and a sweater later.
facts =
    {material} blocks the wind and lets out the heat.
    Five pockets, two of them hidden.
    The cuffs adjust, so the draft stays out.
    Rolls up into its own pocket.
    Reinforced at the elbows.

[pajama sets]
path = Clothing, Shoes & Jewelry > Women > Clothing > Sleep & Lounge > Pajama Sets
one = a *pajama set
thing = pajamas
price = 17 72
forms = Pajama Set | Women's Sleepwear Set | Lounge Set | Women's Sleep Set
looks = Cozy | Floral | Striped | Silky | Matching
materials = Cotton Flannel | Modal | Satin | Bamboo Viscose
extras = with Pockets | with Eye Mask | with Piping
uses = for Women | for Mom | for Bridesmaids
tails = 2 Pieces | 3 Pieces | Plus Size
attributes = machine wash | hand wash | long sleeve / short sleeve | elastic waist
    drawstring closure | button closure | super soft | relaxed fit | perfect gift
    tumble dry | teen girls | wide leg
options =
    Color: Pink | Navy Blue | Black | Light Gray | Champagne | Wine Red | Purple
    Size: Small | Medium | Large | X-Large | XX-Large
openers =
    Good nights begin with {a_form} by {brand}.
    {material} from head to toe: the {brand} {form} is hard to take off.
    Sunday all week with the {form} from {brand}.
facts =
    {material} stays cool in summer and cozy in winter.
    Soft piping at the collar gives it a finished look.
    The waistband does not pinch when you turn over.
    Nice enough to answer the door in.
    Top and bottom can be worn apart.

[sun hats]
path = Clothing, Shoes & Jewelry > Women > Accessories > Hats & Caps > Sun Hats
one = a *sun hat
thing = hat
price = 11 46
forms = Sun Hat | Beach Hat | Summer Hat | Garden Hat
looks = Foldable | Floppy | Braided | Packable | Roll Up
materials = Paper Straw | Cotton Canvas | Raffia | Linen
extras = with Chin Strap | with Ribbon | with Ponytail Hole
uses = for Women | for Beach | for Gardening | for Travel
tails = One Size | UPF 50
attributes = uv protection | easy carry | light weight | hand wash | daily wear
    quick drying | perfect gift | moisture wicking | teen girls | high quality
    water resistant
options =
    Color: Beige | White | Black | Khaki | Navy Blue | Pink | Coffee Brown
    Style: Large Brim | Medium Brim | Small Brim
openers =
    Shade to go: the {brand} {form} weighs less than your phone.
    {a_form} by {brand} in {material}, for sun, sea and market days.
    The {form} from {brand} keeps your face cool and your nose unburnt.
facts =
    {material} lets the air through and springs back after packing.
    A band inside adjusts the size.
    Stays on in a breeze.
    Roll it up and push it into the beach bag.
    Spot clean and let it dry in the shade.
"""

"""Beauty products; the format stands in `vocabulary`."""

__all__ = ["BEAUTY"]

BEAUTY = """
[DEFAULT]
category = beauty
closings =
    {brand} has looked after skin and hair for forty years, and answers every letter.
    Not happy? Write to {brand} within sixty days and we will make it right.
    Keep out of reach of children and stop using it if your skin objects.
    A small pleasure for yourself, or one for the person who has everything.

[refillable containers]
path = Beauty & Personal Care > Tools & Accessories > Refillable Containers
one = a set of *refillable containers
thing = bottles
price = 5 24
forms = Travel Bottles | Cosmetic Jars | Refillable Spray Bottles | Pump Bottles
looks = Reusable | Small | Empty | Slim | Portable
materials = Silicone | Amber Glass | PET Plastic | Aluminum
extras = with Funnel | with Labels | with Flip Cap | with Fine Mist Sprayer
uses = for Toiletries | for Lotion | for Shampoo | for Creams
tails = 3 oz | 2 oz | Pack of 4 | Set of 6 | 50 ml
attributes = leak proof | bpa free | easy carry | easy clean | travel size
    high quality
    eco friendly | rose gold | storage case | non toxic | long lasting | easy use
options =
    Color: Clear | Pink | Blue | Black | White | Green | Purple
    Size: 1 ounce | 2 ounce | 3 ounce | 4 ounce | 8 ounce
openers =
    These {material} {form} from {brand} are made for people who hate spills.
    Take your favorites along: {brand} {form} hold lotion, soap, gel or cream.
    Decant, label, close and go with a set of {form} by {brand}.
facts =
    Wide necks make filling quick and a brush reaches every corner for cleaning.
    Made from {material} that does not dent in a full suitcase.
    Write on the labels with any pen and wipe them clean later.
    Use them for shampoo, sunscreen, baby food or small craft supplies.
    The set contains everything in the picture; liquids are not included.

[shampoo & conditioner]
path = Beauty & Personal Care > Hair Care > Shampoo & Conditioner > Shampoos
one = a *shampoo
thing = shampoo
price = 7 38
forms = Shampoo | Daily Shampoo | Repair Shampoo | Volume Shampoo
looks = Gentle | Hydrating | Nourishing | Clarifying | Botanical
materials = Biotin | Keratin | Oat Milk | Rice Protein
extras = with Pump | with Conditioner | with Scalp Brush
uses = for Women and Men | for Curly Hair | for Color Treated Hair | for All Hair Types
tails = 12 fl oz | 16.9 fl oz | 8 oz | Pack of 2
attributes = sulfate free | paraben free | cruelty free | tea tree | coconut oil
    argan oil | natural ingredients | dry hair | damaged hair | hair growth
    natural hair | essential oils | dermatologist tested
options =
    Scent: Lavender | Orange Blossom | Vanilla | Eucalyptus | Fresh Linen
    Size: 8 ounce | 12 ounce | 16 ounce | 32 ounce
openers =
    {brand} {form} with {material} cleans gently and rinses out in seconds.
    Your hair works hard; this {form} by {brand} pays it back with {material}.
    Wash day is better with {brand}: a creamy lather, a fresh scent, happy hair.
facts =
    {material} coats each strand and protects it from breakage.
    Massage into wet hair, leave for a minute and rinse with warm water.
    Safe for colored, bleached and chemically treated hair.
    The bottle is made from recycled plastic and can be refilled.
    Pairs well with the conditioner and the mask of the same series.

[toothbrushes]
path = Beauty & Personal Care > Oral Care > Toothbrushes > Manual Toothbrushes
one = a pack of *toothbrushes
thing = toothbrushes
price = 4 22
forms = Toothbrushes | Manual Toothbrushes | Family Toothbrushes
looks = Gentle | Ergonomic | Slim | Colorful
materials = Nylon Bristle | Charcoal Bristle | Silicone Bristle
extras = with Travel Caps | with Tongue Scraper | with Suction Holder
uses = for Adults | for Toddlers | for Gums | for Braces
tails = Pack of 4 | 6 Count | 10 Count | Pack of 2
attributes = bpa free | easy clean | eco friendly | oral hygiene | bad breath
    sensitive teeth | easy use | travel size | storage case | non slip | high quality
options =
    Color: Blue | Pink | Green | Purple | White | Black
    Style: Soft Bristles | Medium Bristles | Firm Bristles
openers =
    {brand} {form} clean between the teeth and along the gums without scratching.
    A new head for a fresh start: {form} by {brand} for the whole household.
    Brushing takes two minutes, and {brand} makes them pleasant ones.
facts =
    The {material} tips are rounded one by one.
    Each brush has its own color so that nobody mixes them up.
    A narrow neck reaches the back teeth with ease.
    Replace every three months or when the bristles begin to spread.
    The handle rests well in large hands and small ones.

[body lotions]
path = Beauty & Personal Care > Skin Care > Body > Moisturizers > Lotions
one = a *body lotion
thing = lotion
price = 6 34
forms = Body Lotion | Hand and Body Lotion | Body Butter | Body Cream
looks = Whipped | Daily | Intensive | Silky | Fast Absorbing
materials = Oatmeal | Cocoa Butter | Jojoba Oil | Almond Milk
extras = with Pump | with Vitamin E | with Ceramides
uses = for Women | for Men | for Body and Hands | for Winter
tails = 8 oz | 16 oz | 13.5 fl oz | Pack of 3
attributes = dry skin | sensitive skin | paraben free | cruelty free | shea butter
    coconut oil | aloe vera | natural ingredients | dermatologist tested | alcohol free
    anti aging | fine lines | long lasting | essential oils
options =
    Scent: Vanilla | Fresh Cotton | Lavender | Rose | Coconut | Cucumber
    Size: 3 ounce | 8 ounce | 12 ounce | 18 ounce
openers =
    {brand} {form} with {material} comforts from the first touch.
    Smooth it on after the shower: {brand} {form} keeps its promise all day.
    A little of this {form} goes a long way, thanks to {material}.
facts =
    {material} softens rough spots on elbows, knees and heels.
    Sinks in quickly, so you can dress right away.
    Use as often as you like on hands, arms, legs and feet.
    Made in small batches and filled on the same day.
    Store below 85 degrees and close well after use.

[makeup brushes & tools]
path = Beauty & Personal Care > Tools & Accessories > Makeup Brushes > Brush Sets
one = a *makeup brush set
thing = brushes
price = 7 42
forms = Makeup Brush Set | Cosmetic Brush Set | Face Brush Set | Blending Brush Set
looks = Professional | Soft | Vegan | Tapered | Fluffy
materials = Synthetic Fiber | Bamboo Handle | Wooden Handle
extras = with Mirror | with Sponge | with Brush Cleaner
uses = for Powder | for Foundation | for Blush | for Beginners
tails = 10 Pieces | 12 Pieces | 8 Count
attributes = cruelty free | high quality | eye shadow | easy clean | easy carry
    rose gold | storage case | beauty salon | easy use | perfect gift | travel size
    sensitive skin
options =
    Color: Black | Pink | White | Purple | Champagne | Rose Gold
    Style: 5 Pieces Kit | 8 Pieces Kit | 12 Pieces Kit | 18 Pieces Kit
openers =
    The {brand} {form} covers every step from base to finish.
    Dense, soft and even: {a_form} by {brand} for clean edges and smooth blends.
    Your face is worth good tools, and this {form} from {brand} is one.
facts =
    The {material} stays firmly in place and does not shed.
    Works with powders, liquids and creams alike.
    Wash with lukewarm water and dry flat on a towel.
    Balanced in the hand, so that small corrections are easy.
    Each head is shaped by hand and trimmed twice.

[hair dryers]
path = Beauty & Personal Care > Hair Care > Styling Tools & Appliances > Hair Dryers
one = a *hair dryer
thing = dryer
price = 19 120
forms = Hair Dryer | Blow Dryer | Ionic Hair Dryer | Salon Hair Dryer
looks = Compact | Powerful | Quiet | Foldable | Fast Drying
materials = Ceramic | Tourmaline | Titanium
extras = with Diffuser | with Concentrator Nozzle | with Cool Shot
uses = for Curly Hair | for Thick Hair | for Travel | for Home
tails = 1875 Watt | 1600 Watt | Dual Voltage
attributes = hair styling | natural hair | high quality | long lasting | beauty salon
    light weight | easy carry | easy use | heavy duty | storage case | travel size
    rose gold
options =
    Color: Black | White | Purple | Pink | Navy Blue | Rose Gold
    Style: Diffuser Kit | Comb Kit | Two Nozzle Kit
openers =
    The {brand} {form} dries in half the time with even, gentle heat.
    A {material} grille and a strong motor: that is the {form} by {brand}.
    Less noise, less frizz and more time for coffee with the {brand} {form}.
facts =
    {material} spreads the heat evenly, so no spot gets too hot.
    Three heat levels and two speeds adapt to fine and thick hair.
    The filter at the back comes off for cleaning.
    An eight foot cord reaches from the socket to the mirror.
    Switches itself off when it gets too warm.

[lip makeup]
path = Beauty & Personal Care > Makeup > Lips > Lipstick
one = a *lipstick
thing = lipstick
price = 4 26
forms = Lipstick | Liquid Lipstick | Lip Gloss | Lip Stain | Lip Crayon
looks = Matte | Glossy | Velvet | Satin | Sheer
materials = Vitamin E | Beeswax | Jojoba Oil | Rosehip Oil
extras = with Mirror | with Lip Liner | with Gift Box
uses = for Women | for Everyday Makeup | for Parties
tails = 0.12 oz | 4 ml | Pack of 3 | 1 Count
attributes = long lasting | highly pigmented | cruelty free | easy apply | paraben free
    coconut oil | shea butter | hyaluronic acid | high quality
    perfect gift | easy carry
options =
    Color: Nude | Coral | Cranberry | Plum | Rose | Wine Red | Hot Pink | Mauve | Brown
openers =
    {a_form} by {brand} that feels like balm and looks like paint.
    {brand} {form} goes from the office to the late show without a touch up.
    One coat of this {form} from {brand} is enough to change your mood.
facts =
    {material} keeps lips soft under the color.
    Does not feather, bleed or stick to your coffee cup.
    The slim tube clicks shut and fits the smallest pocket.
    Remove with warm water and a mild cleanser.
    The color in the tube is the color on your lips.

[nail polish]
path = Beauty & Personal Care > Foot, Hand & Nail Care > Nail Polish
one = a *nail polish set
thing = polish
price = 5 32
forms = Nail Polish Set | Gel Nail Polish | Nail Lacquer Set | Nail Polish
looks = Glossy | Quick Dry | Chip Resistant | Glitter | Pastel
materials = Plant Based Resin | UV Gel | Mineral Pigment
extras = with Top Coat | with Nail File | with LED Lamp
uses = for Manicure | for Home | for Beginners | for Teen Girls
tails = 6 Colors | 0.5 oz | Set of 12 | 8 ml
attributes = nail art | long lasting | easy apply | non toxic | cruelty free
    beauty salon | high quality | highly pigmented | easy use | perfect gift
    eco friendly
options =
    Color: Blush Pink | Red | Nude | Lilac | Teal | Coral | Midnight | Silver
    Style: Starter Kit | Refill Bottle | Gift Box
openers =
    Ten quiet minutes and {a_form} by {brand} are all you need.
    The {brand} {form} covers in two thin coats and shines for days.
    Bring the salon home with this {form}, made with {material}.
facts =
    {material} gives a hard finish that does not chip at the tips.
    The wide brush follows the curve of the nail.
    Dries to the touch in about sixty seconds.
    Shake well and apply two thin layers rather than one thick one.
    Comes off with any common remover.

[bath sponges & loofahs]
path = Beauty & Personal Care > Personal Care > Bath & Bathing Accessories > Loofahs
one = a *bath sponge
thing = sponge
price = 4 19
forms = Bath Sponge | Loofah | Back Scrubber | Exfoliating Mitt
looks = Soft | Fluffy | Gentle | Two Tone
materials = Natural Loofah | Sisal | Bamboo Fiber | Mesh
extras = with Long Handle | with Hanging Loop | with Rope
uses = for Shower | for Body | for Men and Women
tails = Pack of 3 | Pack of 2 | 4 Count
attributes = dead skin | sensitive skin | easy clean | eco friendly | non slip
    long lasting
    double sided | easy use | high quality | travel size
options =
    Color: Beige | Pink | Gray | Blue | Green | White
    Size: Small | Medium | Large
openers =
    The {brand} {form} turns a quick shower into a small spa.
    Made from {material}, this {form} by {brand} lathers up with very little soap.
    Scrub, rinse, hang up: the {form} from {brand} keeps it simple.
facts =
    {material} wakes up the skin and helps the blood flow.
    Rinse well and hang to dry after each use.
    Softens within seconds in warm water.
    Large enough for the back, handy enough for the feet.
    Replace after about eight weeks of daily use.

[women's fragrance]
path = Beauty & Personal Care > Fragrance > Women's > Eau de Parfum
one = a *women's perfume
thing = perfume
price = 12 95
forms = Eau de Parfum | Perfume Spray | Body Mist | Rollerball Perfume
looks = Floral | Fresh | Woody | Warm | Romantic
materials = Jasmine | Bergamot | Sandalwood | Peony
extras = with Gift Box | with Travel Spray | with Velvet Pouch
uses = for Women | for Her | for Date Night
tails = 1.7 fl oz | 3.4 oz | 50 ml | 10 ml
attributes = long lasting | cruelty free | travel size | perfect gift
    natural ingredients
    essential oils | alcohol free | easy carry | paraben free | high quality
options =
    Scent: Jasmine Garden | White Musk | Amber Wood | Citrus Breeze | Rose Petals
    Size: 0.3 ounce | 1 ounce | 1.7 ounce | 3.4 ounce
openers =
    {brand} {form} opens with {material} and settles into something of your own.
    {a_form} by {brand} for evenings that you want to remember.
    Light as a scarf and just as hard to forget: {form} from {brand}.
facts =
    Top notes of {material}, a heart of iris and a base of soft woods.
    Spray on pulse points from a hand's width away.
    The heavy glass bottle looks good on any dresser.
    Keep away from direct sun and the scent will stay true.
    Layer it with an unscented cream and it will stay even longer.

[face masks]
path = Beauty & Personal Care > Skin Care > Face > Treatments & Masks > Masks
one = a *face mask
thing = mask
price = 6 36
forms = Face Mask | Facial Mask | Sleeping Mask | Cream Mask
looks = Purifying | Cooling | Brightening | Overnight | Detox
materials = Green Tea | Honey | Volcanic Clay | Collagen
extras = with Brush | with Headband | with Spatula
uses = for Women and Men | for Oily Faces | for Teens
tails = 3.5 oz | Pack of 5 | 5 oz | 2 Count
attributes = hyaluronic acid | anti aging | fine lines | dark circles | sensitive skin
    dry skin | dead skin | tea tree | aloe vera | cruelty free | paraben free | oil free
    clinically proven | alcohol free
options =
    Scent: Cucumber | Charcoal | Aloe | Honey | Citrus
    Size: 1 Pack | 3 Pack | 5 Pack | 10 Pack
openers =
    Fifteen minutes with the {brand} {form} and you look like after a holiday.
    {material} is the heart of this {form} by {brand}.
    A calm evening, a good book and {a_form} from {brand}.
facts =
    {material} draws out what does not belong and leaves moisture behind.
    Leave on for fifteen minutes, then rinse or pat in what remains.
    Use two or three times a week in the evening.
    Does not dry out, crack or slide off.
    Suits faces of all ages, from first pimples to first wrinkles.
"""

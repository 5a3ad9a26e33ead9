"""Things to eat and drink; the format stands in `vocabulary`."""

__all__ = ["GROCERY"]

GROCERY = """
[DEFAULT]
category = grocery
closings =
    {brand} is still a family business, and the family tastes every batch.
    Store in a cool and dry place, and close the package well after opening.
    If you do not like it, {brand} gives you your money back, and no questions.
    Good to have in the cupboard when guests come, and better when they do not.

[ground coffee]
path = Grocery & Gourmet Food > Beverages > Coffee, Tea & Cocoa > Coffee > Ground Coffee
one = *ground coffee
thing = coffee
price = 7 32
forms = Ground Coffee | Arabica Coffee | Filter Coffee | Espresso Coffee
looks = Medium Roast | Dark Roast | Light Roast | Smooth | Bold
materials = Colombian | Ethiopian | Guatemalan | Sumatran
extras = in Resealable Bag | with Chicory | in Tin
uses = for Drip Machines | for French Press | for Cold Brew
tails = 12 oz | 2 lb | 10 oz | Pack of 3
attributes = certified organic | fair trade | non gmo | gluten free
    no artificial flavors
    sugar free | keto friendly | natural flavors | quality ingredients | perfect gift
    caffeine free
options =
    Flavor Name: House Blend | Hazelnut | Vanilla | Caramel | Cinnamon | Dark Chocolate
    Size: 12 ounce (pack of 1) | 12 ounce (pack of 2) | 2 pound (pack of 1)
    5 pound bag
openers =
    {brand} {form} fills the kitchen before it fills the cup.
    {material} hills, careful hands and a slow roast: {form} by {brand}.
    Mornings forgive everything when there is {form} from {brand}.
facts =
    Grown on {material} slopes and roasted in small drums.
    Notes of cocoa, toasted nut and a little citrus.
    Use two tablespoons for every six ounces of water.
    The valve in the bag lets gas out and keeps air away.
    Roasted to order and shipped within two days.

[breakfast bars]
path = Grocery & Gourmet Food > Snack Foods > Bars > Granola & Trail Mix Bars
one = a box of *breakfast bars
thing = bars
price = 6 30
forms = Breakfast Bars | Granola Bars | Snack Bars | Protein Bars
looks = Chewy | Crunchy | Soft Baked | Crispy | Wholesome
materials = Rolled Oat | Almond Butter | Puffed Quinoa | Date
extras = with Chia Seeds | with Dark Chocolate | with Sea Salt
uses = for Kids | for Adults | for Hiking | for School
tails = 12 Count | 1.4 oz | Pack of 6
attributes = gluten free | non gmo | plant based | high protein | dairy free | soy free
    individually wrapped | dietary fiber | low carb | keto friendly | real fruit
    ready eat | no artificial colors
options =
    Flavor Name: Peanut | Apple Cinnamon | Coconut | Chocolate Chip | Banana | Maple
    Size: 6 count | 12 count | 24 count | 36 count
openers =
    {brand} {form} are breakfast for people who are already late.
    Baked with {material}, these {form} by {brand} hold you until lunch.
    Put one of the {form} from {brand} in every pocket.
facts =
    {material} first, everything else after.
    Holds together in the bag and in the hand.
    About 180 calories each.
    Keep in a cool place and they will stay soft.
    Baked in our own ovens every Tuesday.

[nuts & seeds]
path = Grocery & Gourmet Food > Snack Foods > Nuts & Seeds > Mixed Nuts
one = a bag of *mixed nuts
thing = nuts
price = 7 38
forms = Mixed Nuts | Nut Mix | Trail Mix | Nut Assortment
looks = Crunchy | Dry Roasted | Deluxe | Whole
materials = California | Vietnamese | Turkish | Georgia
extras = with Cranberries | with Pumpkin Seeds | in Jar
uses = for Snacking | for Baking | for Hiking
tails = 16 oz | 2 lb | 8 oz | Pack of 2
attributes = gluten free | non gmo | low sodium | keto friendly | low carb | plant based
    high protein | certified organic | no artificial flavors | dietary fiber | ready eat
    simple ingredients | perfect gift
options =
    Flavor Name: Sea Salt | Smoked | Honey | Chili Lime | Wasabi
    Size: 8 ounce (pack of 1) | 16 ounce (pack of 1) | 16 ounce (pack of 2)
    32 ounce jar
openers =
    One handful of {brand} {form} becomes two before you notice.
    {material} nuts at their best: {form} by {brand}.
    {form} from {brand}, roasted today and crisp until the last one.
facts =
    From {material} growers who dry the harvest in the sun.
    Roasted dry, without a drop of oil.
    Sort, roast, cool, pack: all in one day.
    Close the bag well after opening.
    A good companion for cheese, salads and long drives.

[herbal tea]
path = Grocery & Gourmet Food > Beverages > Coffee, Tea & Cocoa > Tea > Herbal
one = a box of *herbal tea
thing = tea
price = 4 26
forms = Herbal Tea | Tea Bags | Loose Leaf Tea | Tea Sampler
looks = Soothing | Fragrant | Bedtime | Spiced | Refreshing
materials = Chamomile | Peppermint | Rooibos | Ginger
extras = with Lemon Peel | with Licorice Root | in Tin
uses = for Sleep | for Digestion | for Iced Tea
tails = 20 Count | 100 Bags | 4 oz | Pack of 6
attributes = caffeine free | certified organic | fair trade | non gmo | sugar free
    natural flavors | no artificial colors | individually wrapped | gluten free
    perfect gift
    quality ingredients
options =
    Flavor Name: Chamomile | Ginger | Lemon | Hibiscus | Mint | Apple Spice
    Size: 16 count (pack of 1) | 20 count (pack of 3) | 100 count | 20 count (pack of 6)
openers =
    Put the kettle on: {form} by {brand} needs four minutes and a chair.
    {material} is at the bottom of every cup of {brand} {form}.
    {form} from {brand} for rainy days and long phone calls.
facts =
    {material} picked by hand and dried in the shade.
    The bags are made of paper and go into the compost.
    Steep for four to six minutes in boiling water.
    Just as good over ice with a slice of orange.
    Blended by a team that drinks forty cups a day.

[dried fruit]
path = Grocery & Gourmet Food > Produce > Dried Fruits & Vegetables > Dried Fruits
one = a bag of *dried fruit
thing = fruit
price = 6 30
forms = Dried Fruit | Fruit Chips | Fruit Snack Mix | Fruit Slices
looks = Chewy | Crispy | Unsweetened | Sun Ripened | Tangy
materials = Thai | Peruvian | Mountain | Island
extras = in Resealable Bag | with Chili | with Lime
uses = for Kids | for Snacking | for Baking
tails = 6 oz | 1 lb | Pack of 4 | 12 oz
attributes = freeze dried | real fruit | sugar free | non gmo | gluten free
    plant based
    certified organic | no artificial colors | no artificial flavors | dietary fiber
    nut free
    ready eat | fair trade
options =
    Flavor Name: Mango | Strawberry | Apple | Pineapple | Banana | Peach
    Size: 1.5 ounce (pack of 6) | 6 ounce (pack of 1) | 1 pound (pack of 1)
openers =
    {brand} {form}: a taste of August in December.
    {material} orchards, sharp knives, low heat: {form} by {brand}.
    Open a bag of {form} from {brand} and watch it disappear.
facts =
    {material} trees, picked when fully ripe.
    Sliced thin and dried for eighteen hours.
    Try it on yogurt, in salads or in the lunch box.
    One serving counts toward your five a day.
    The bag closes tightly to keep the bite.

[popcorn]
path = Grocery & Gourmet Food > Snack Foods > Popcorn > Popped
one = a pack of *popcorn
thing = popcorn
price = 5 28
forms = Popcorn | Kettle Corn | Popped Corn | Gourmet Popcorn
looks = Crunchy | Fluffy | Light | Buttery | Sweet and Salty
materials = Yellow Corn | White Corn | Butterfly Corn | Heirloom Corn
extras = in Bags | with Sea Salt | in Gift Tin
uses = for Movie Night | for Parties | for Kids
tails = Pack of 12 | 6 oz | 24 Count
attributes = gluten free | non gmo | nut free | low sodium | ready eat | dietary fiber
    no artificial flavors | no artificial colors | individually wrapped | old fashioned
    simple ingredients | perfect gift
options =
    Flavor Name: Sea Salt | Cheddar | Caramel | Kettle | Jalapeno | Sour Cream
    Size: 1 ounce (pack of 12) | 4.5 ounce (pack of 6) | 7 ounce (pack of 3)
    1 gallon tin
openers =
    {brand} {form} turns any couch into the front row.
    Popped from {material}: {form} by {brand}.
    There is a reason why the bowl of {form} from {brand} is empty first.
facts =
    {material} pops larger and leaves fewer hard kernels.
    Popped in small kettles in coconut oil.
    Sealed within minutes, so every bag crackles.
    Only 35 calories a cup.
    Great for movie nights, picnics and party bowls.

[crackers]
path = Grocery & Gourmet Food > Snack Foods > Crackers > Assortments & Samplers
one = a box of *crackers
thing = crackers
price = 4 24
forms = Crackers | Crisps | Seed Crackers | Snack Crackers
looks = Thin | Crispy | Baked | Toasted | Savory
materials = Brown Rice | Almond Flour | Rye | Flaxseed
extras = with Sesame | with Rosemary | with Poppy Seeds
uses = for Dips | for Cheese Boards | for Soup
tails = 5 oz | Pack of 6 | 8 oz
attributes = non gmo | plant based | low carb | keto friendly | dietary fiber
    low sodium | certified organic | no artificial flavors | soy free
    simple ingredients
    old fashioned
options =
    Flavor Name: Sea Salt | Garlic Herb | Everything | Tomato Basil | Pepper
    Size: 4.5 ounce (pack of 1) | 4.5 ounce (pack of 3) | 4.5 ounce (pack of 6)
openers =
    {brand} {form} carry cheese, dip and conversation.
    Baked from {material} and little else: {form} by {brand}.
    Snap, crunch, repeat with {form} from {brand}.
facts =
    {material} gives the dough its bite.
    Baked on stone until the edges turn golden.
    Two sleeves in each box keep them fresh.
    Serve with hummus, soup or a slice of pear.
    Strong enough for the thickest dip.

[chocolate candy]
path = Grocery & Gourmet Food > Snack Foods > Candy & Chocolate > Assortments
one = a box of *chocolates
thing = chocolates
price = 6 42
forms = Chocolate Truffles | Chocolate Bar | Chocolate Assortment | Chocolate Bites
looks = Creamy | Silky | Dark | Luxury | Crunchy
materials = Ecuador Cocoa | Ghana Cocoa | Peru Cocoa
extras = with Sea Salt | with Hazelnuts | in Gift Box
uses = for Women and Men | for Birthday | for Baking
tails = 8 oz | 24 Pieces | Pack of 4 | 3.5 oz
attributes = fair trade | certified organic | gluten free | sugar free | soy free
    non gmo
    individually wrapped | perfect gift | old fashioned | natural flavors | plant based
    quality ingredients | no artificial colors
options =
    Flavor Name: Sea Salt | Hazelnut | Orange | Mint | Coffee | Coconut
    Size: 3.5 ounce (pack of 1) | 3.5 ounce (pack of 4) | 8 ounce box | 16 ounce box
openers =
    {brand} makes its {form} from the bean, not from a block.
    {material} and patience: that is all there is to {form} by {brand}.
    Hide the {form} from {brand}, or share and be loved.
facts =
    {material} is ground for three days until it melts like silk.
    Fillings are made fresh each week.
    Packed with a cold pack in the warm months.
    Tastes best at room temperature.
    Every piece is decorated by hand.

[pasta]
path = Grocery & Gourmet Food > Pantry Staples > Pasta & Noodles > Dried Pasta
one = a pack of *pasta
thing = pasta
price = 4 28
forms = Pasta | Dried Pasta | Short Pasta | Italian Pasta
looks = Bronze Cut | Artisan | Italian Style | Quick Cook | Rustic
materials = Chickpea | Red Lentil | Brown Rice | Durum Wheat
extras = in Carton | with Spinach | with Tomato
uses = for Family Dinner | for Salad | for Kids
tails = 12 oz | 16 oz | Pack of 6
attributes = non gmo | high protein | plant based | certified organic | dairy free
    soy free
    dietary fiber | low sodium | simple ingredients | old fashioned
    quality ingredients
    nut free
options =
    Style: Fusilli | Penne | Rotini | Elbows | Shells
    Size: 8 ounce (pack of 1) | 8 ounce (pack of 4) | 12 ounce (pack of 6)
openers =
    {brand} {form} holds the sauce and keeps its bite.
    {material} flour and water, dried slowly: {form} by {brand}.
    Tuesday tastes like Sunday with {form} from {brand}.
facts =
    {material} gives it a nutty taste and good color.
    Ready in eight to ten minutes.
    The rough surface grabs every bit of sauce.
    Dried at low heat for two days.
    Works in soups, salads and bakes.

[beef jerky]
path = Grocery & Gourmet Food > Snack Foods > Meat Snacks > Jerky
one = a bag of *beef jerky
thing = jerky
price = 8 36
forms = Beef Jerky | Jerky | Smoked Beef | Steak Jerky
looks = Tender | Smoky | Thick Cut | Spicy | Bold
materials = Grass Fed | Hickory Smoked | Angus | Slow Cured
extras = with Black Pepper | with Brown Sugar | in Pouch
uses = for Hiking | for Men | for Road Trips
tails = 8 oz | 2.85 oz | Pack of 4
attributes = gluten free | high protein | low carb | keto friendly | soy free
    ready eat | no artificial flavors | natural flavors | individually wrapped
    low sodium
    old fashioned | perfect gift
options =
    Flavor Name: Original | Teriyaki | Peppery | Sweet Heat | Honey Bourbon
    Size: 3 ounce (pack of 1) | 3 ounce (pack of 4) | 10 ounce bag | 16 ounce bag
openers =
    {brand} {form} is the reason why the glove box has crumbs.
    {material} beef, sliced thick and dried slowly: {form} by {brand}.
    Real food for long roads: {form} from {brand}.
facts =
    {material} beef from ranches within a day's drive.
    Marinated for a full day before drying.
    Fifteen grams of protein in a handful.
    Tears easily and never turns to string.
    Keeps for months unopened and minutes once opened.
"""

"""What is said of what people put on their skin, wear and eat."""

__all__ = ["BEAUTY_PHRASES", "FASHION_PHRASES", "GROCERY_PHRASES"]

BEAUTY_PHRASES = """
[attributes]
cruelty free = before: is cruelty free
    Proudly cruelty free: neither we nor our suppliers test on animals.
    A cruelty free recipe you can feel good about.
    - Never tested on animals, at any stage.
paraben free = before: is paraben free
    The paraben free formula leaves out preservatives you do not need.
    Paraben free and mild enough for every day.
    - No parabens, no mineral oil, no compromise.
sulfate free = before: is sulfate free
    Sulfate free, so it cleans without stripping natural oils.
    A sulfate free lather that is rich yet gentle.
    - Mild cleansers from sugar and coconut replace the harsh ones.
alcohol free = before: is alcohol free
    Alcohol free, so it does not sting or dry you out.
    The alcohol free blend feels calm from the first touch.
    - No drying alcohol in any of our blends.
oil free = before: is oil free
    The oil free texture sinks in quickly and leaves no shine.
    Oil free and light, it never feels greasy.
    - Absorbs in seconds without clogging pores.
dermatologist tested = before: is dermatologist tested
    Dermatologist tested on all skin types.
    Gentle, dermatologist tested care that you can rely on.
    - Patch tested by skin doctors over four weeks.
clinically proven = before: is clinically proven
    Clinically proven results after only four weeks.
    In a study with sixty volunteers it was clinically proven to work.
    - Nine out of ten testers saw a difference.
anti aging = before: is anti aging
    An anti aging formula that firms and smooths day after day.
    Anti aging care that starts working overnight.
    - Helps you look as rested as you would like to feel.
easy apply = before: is easy to apply
    Easy to apply with one smooth stroke.
    The soft tip makes it easy to apply without a mirror.
    - Glides on evenly and never drags or clumps.
highly pigmented = before: is highly pigmented
    Highly pigmented color that shows from the first layer.
    Because it is highly pigmented, a little goes a long way.
    - Rich, true color in a single swipe.
tea tree = with: is made with tea tree
    Tea tree from small Australian farms refreshes and purifies.
    The clean scent of tea tree wakes you up in the morning.
    - A botanical classic that cools and clears.
coconut oil = with: is made with coconut oil
    Cold pressed coconut oil softens without weighing down.
    Enriched with coconut oil, the {thing} will leave you silky smooth.
    - Virgin oil from sun ripened coconuts.
argan oil = with: is made with argan oil
    Precious argan oil adds shine and tames what is unruly.
    A few drops of argan oil go into every batch.
    - Moroccan oil, rich in vitamin E.
hyaluronic acid = with: is made with hyaluronic acid
    Hyaluronic acid binds moisture and keeps it where it belongs.
    Two kinds of hyaluronic acid plump and refresh from within.
    - Holds a thousand times its weight in water.
essential oils = with: is made with essential oils
    Pure essential oils give it a scent that is never artificial.
    Blended with essential oils by our own perfumer.
    - Steam distilled plants and nothing synthetic.
natural ingredients = with: is made with natural ingredients
    Made from natural ingredients you can pronounce.
    Only natural ingredients go in, listed plainly on the label.
    - Ninety six percent comes straight from plants.
shea butter = with: is made with shea butter
    Unrefined shea butter melts at the warmth of your hands.
    Whipped shea butter gives a rich, comforting feel.
    - Bought at fair prices from a women's cooperative.
aloe vera = with: is made with aloe vera
    Cooling aloe vera soothes after sun, wind and shaving.
    The first ingredient on the list is aloe vera, not water.
    - Fresh plant gel calms redness.
dry skin = for: is good for dry skin
    Dry skin drinks it up and stays supple until evening.
    Made for dry skin that feels tight after every shower.
    - Relief where it flakes, itches and pulls.
sensitive skin = for: is good for sensitive skin
    Mild enough for sensitive skin, even on red and irritated days.
    Sensitive skin deserves care without perfume or surprises.
    - Balanced and calm, without common irritants.
dead skin = for: takes care of dead skin
    It lifts away dead skin and reveals the fresh layer below.
    Say goodbye to dead skin on elbows, knees and heels.
    - Gentle exfoliation that never scratches.
fine lines = for: helps with fine lines
    Fine lines look softer after a month of nightly care.
    It smooths fine lines around the eyes and the mouth.
    - Fills and refines for a rested look.
dark circles = for: helps with dark circles
    Dark circles fade and tired eyes look awake again.
    It brightens dark circles after a short night.
    - Eight hours of sleep in ten minutes.
dry hair = for: is good for dry hair
    Dry hair becomes soft, shiny and easy to comb.
    It gives dry hair back the moisture that sun and heat have taken.
    - Tames frizz and brittle ends.
damaged hair = for: repairs damaged hair
    Damaged hair feels stronger after the third wash.
    Repairs damaged hair from the roots to the split ends.
    - Rescue after bleach, color and straightening irons.
hair growth = for: supports hair growth
    Used every day, it supports healthy hair growth.
    Hair growth starts with a well cared for scalp.
    - Wakes up the roots with rosemary and biotin.
hair styling = for: is made for hair styling
    Hair styling at home, with a finish like the salon's.
    For quick hair styling on busy mornings.
    - Waves, volume or sleek: you decide.
natural hair = for: is made for natural hair
    Designed for natural hair, from loose waves to tight coils.
    Natural hair keeps its bounce and its moisture.
    - Kind to curls, braids and protective styles.
beauty salon = for: is fit for a beauty salon
    The same quality that a professional beauty salon expects.
    Equally at home in a beauty salon and on your own shelf.
    - Trusted by stylists who use it forty times a week.
oral hygiene = for: is good for oral hygiene
    Better oral hygiene in the two minutes you already spend.
    Oral hygiene for the whole family, recommended by our dentist.
    - Reaches plaque where others do not.
bad breath = for: fights bad breath
    It removes what causes bad breath instead of covering it.
    No more bad breath after coffee, garlic or a long flight.
    - Fresh for hours, even after lunch.
sensitive teeth = for: is good for sensitive teeth
    Gentle on sensitive teeth and sore gums.
    Ice cream is fun again, even with sensitive teeth.
    - Soft where it has to be.
eye shadow = for: works for eye shadow
    Blends eye shadow without a visible edge.
    For eye shadow, contour and everything between.
    - Picks up powder well and releases it evenly.
nail art = for: is made for nail art
    Nail art that looks as if someone else had done it.
    Everything you need for nail art on a rainy afternoon.
    - Fine lines, dots and flowers without smudging.
"""

FASHION_PHRASES = """
[attributes]
machine wash = before: can go in the machine wash
    Machine wash cold with like colors and wear again tomorrow.
    Safe in the machine wash at thirty degrees.
    - No dry cleaning, no special treatment.
hand wash = before: can be washed by hand
    Hand wash in cool water to keep the color fresh.
    A gentle hand wash is all it asks for.
    - Wash by hand, roll in a towel, dry flat.
tumble dry = before: can be tumble dried
    Tumble dry on low and fold while warm.
    You may tumble dry it without fear of shrinking.
    - Out of the dryer, onto the hanger.
quick drying = before: is quick drying
    Quick drying after rain, sweat or a swim.
    The quick drying weave is ready again within the hour.
    - Wash it at night and wear it in the morning.
moisture wicking = before: is moisture wicking
    Moisture wicking yarn keeps you dry when it gets warm.
    Moisture wicking and airy, for days that start early.
    - Moves sweat away from the skin.
slim fit = before: is slim fit
    A slim fit that follows the body without pinching.
    The slim fit looks sharp under a jacket.
    - Close to the body, with a bit of stretch.
relaxed fit = before: has a relaxed fit
    The relaxed fit leaves room to move and to breathe.
    Relaxed fit, because comfort comes first.
    - Loose where you want it.
regular fit = before: has a regular fit
    A regular fit that is neither tight nor baggy.
    Regular fit: order the size you always wear.
    - True to size.
long sleeve = before: is long sleeve
    The long sleeve cut keeps off the evening chill.
    Long sleeve comfort for cool offices and early mornings.
    - Cuffs that stay put or roll up.
short sleeve = before: is short sleeve
    Short sleeve and airy for warm days.
    A short sleeve cut that sits neatly at the arm.
    - Made for sunshine.
high waist = before: is high waist
    The high waist smooths the silhouette and stays up.
    A high waist flatters and never digs in.
    - Sits above the navel and holds everything in.
tummy control = before: has tummy control
    Gentle tummy control without squeezing.
    Tummy control panels give a smooth line.
    - Holds you in and lets you breathe.
wide leg = before: is wide leg
    Wide leg shape with a beautiful swing.
    The wide leg cut is airy and elegant.
    - Flows when you walk.
slip resistant = before: is slip resistant
    Slip resistant on wet tiles and dusty floors.
    The slip resistant tread gives you confidence.
    - Grip for busy days on your feet.
day comfort = before: has all day comfort
    All day comfort, from the first train to the last dance.
    Made for day comfort, even if you stand for hours.
    - Feels as good at six as it did at nine.
closed toe = before: is closed toe
    The closed toe protects and goes with every season.
    A closed toe shape that looks neat at work.
    - Rounded at the front with room for your toes.
open toe = before: is open toe
    The open toe shows off your pedicure.
    An open toe for warm nights and summer weddings.
    - Light and airy at the front.
uv protection = before: has uv protection
    With UV protection for long hours outside.
    UV protection is woven in and does not wash out.
    - Blocks most of the harmful rays.
winter warm = before: keeps warm in winter
    Winter warm without looking like a snowman.
    A winter warm companion when the wind picks up.
    - Lined where the cold creeps in.
cotton spandex = with: is made of cotton spandex
    Cotton spandex stretches with you and springs back.
    The cotton spandex jersey is soft and never clings.
    - Natural fiber with a little give.
polyester spandex = with: is made of polyester spandex
    Polyester spandex that keeps its shape and hardly creases.
    Light polyester spandex moves in all directions.
    - Smooth, stretchy and opaque.
faux fur = with: has faux fur
    Faux fur at the edges feels like the real thing.
    Trimmed with faux fur, warm and kind.
    - Fluffy and soft, and no animal missed it.
elastic waist = with: has an elastic waist
    The elastic waist adapts to good dinners.
    An elastic waist with no buttons to fight.
    - Pull on and go.
drawstring closure = with: has a drawstring closure
    A drawstring closure for the exact fit.
    The drawstring closure holds even when pockets are full.
    - Tie it as tight as you like.
zipper closure = with: has a zipper closure
    The smooth zipper closure opens with one hand.
    A sturdy zipper closure that never jams.
    - Metal teeth, big puller.
button closure = with: has a button closure
    A classic button closure with buttons sewn on for life.
    The button closure gives it a dressed look.
    - A spare button is sewn inside.
lace closure = with: has a lace closure
    The lace closure adjusts over the instep.
    A lace closure keeps the heel from slipping.
    - Round laces that stay tied.
rubber sole = with: has a rubber sole
    A flexible rubber sole grips and cushions.
    The rubber sole is stitched, not just glued.
    - Quiet steps and a firm hold.
ankle strap = with: has an ankle strap
    A slim ankle strap keeps the foot secure.
    The ankle strap closes with a small buckle.
    - Stay on your feet all night.
arch support = with: has arch support
    Built in arch support eases long walks.
    Arch support where most shoes have only air.
    - Your knees will notice.
daily wear = for: is for daily wear
    Made for daily wear and washed a hundred times in our tests.
    Daily wear is what it does best.
    - Goes with nearly everything you own.
gym workout = for: is for a gym workout
    For gym workout, yoga, dance and lazy Sundays.
    Stays in place through any gym workout.
    - Squat, stretch and run.
teen girls = for: is for teen girls
    Popular with teen girls and with their mothers.
    Teen girls love the easy shape.
    - Fits the school day and the weekend.
special occasions = for: is for special occasions
    For special occasions and for no occasion at all.
    Special occasions such as weddings and graduations call for it.
    - Expect compliments.
"""

GROCERY_PHRASES = """
[attributes]
gluten free = before: is gluten free
    Gluten free and made in a kitchen that never sees wheat.
    Certified gluten free, so everyone at the table can have some.
    - Safe for people with celiac disease.
non gmo = before: is non gmo
    Non GMO ingredients from farms we know by name.
    Verified non GMO, from seed to shelf.
    - Nothing genetically modified.
sugar free = before: is sugar free
    Sugar free, and you will not miss it.
    A sugar free treat for people who watch what they eat.
    - Not a gram of sugar added.
dairy free = before: is dairy free
    Dairy free and still wonderfully satisfying.
    The recipe is dairy free, with no milk, butter or whey.
    - For everyone who does not get on with milk.
soy free = before: is soy free
    Soy free for people who have to read labels.
    Simple and soy free.
    - No soy oil, no soy lecithin.
nut free = before: is nut free
    Nut free and welcome in school lunch boxes.
    Made in a nut free room.
    - No peanuts and no tree nuts.
plant based = before: is plant based
    Plant based and proud of it.
    A plant based choice that even doubters come back to.
    - Nothing from animals, all of the taste.
certified organic = before: is certified organic
    Certified organic, grown without synthetic sprays.
    From certified organic farms that rotate their crops.
    - Inspected every year from field to package.
low carb = before: is low carb
    Low carb and filling, for smart snacking.
    Fits a low carb day without feeling like a diet.
    - Few carbs, full flavor.
keto friendly = before: is keto friendly
    Keto friendly, with the numbers on the label to prove it.
    A keto friendly answer to the afternoon slump.
    - Works with your plan, not against it.
low sodium = before: is low sodium
    Low sodium, so you taste the food and not the salt.
    The low sodium recipe is kind to your heart.
    - Two thirds less salt than usual.
high protein = before: is high protein
    High protein to keep you going until dinner.
    A high protein boost after training.
    - Fuel for muscles and mind.
fair trade = before: is fair trade
    Fair trade, so the growers are paid properly.
    Bought at fair trade prices from small cooperatives.
    - Good for you and for the people who grew it.
freeze dried = before: is freeze dried
    Freeze dried within hours of the harvest.
    The freeze dried pieces keep their color and their crunch.
    - All the taste without the water.
ready eat = before: is ready to eat
    Ready to eat at the desk, on the trail or in the stands.
    Open the bag and it is ready to eat.
    - No cooking, no mess.
individually wrapped = before: is individually wrapped
    Individually wrapped to stay fresh until you want one.
    Individually wrapped portions for bags, desks and lunch boxes.
    - Share without sharing fingers.
caffeine free = before: is caffeine free
    Caffeine free, for the last cup of the day.
    A caffeine free pleasure that lets you sleep.
    - Good at any hour.
old fashioned = before: is old fashioned
    An old fashioned recipe from a handwritten notebook.
    Old fashioned taste, as it used to be.
    - Made slowly, the way grandmother did.
no artificial flavors = with: has no artificial flavors
    There are no artificial flavors in it, and there never will be.
    No preservatives, no artificial flavors, no tricks.
    - Taste that comes from food.
no artificial colors = with: has no artificial colors
    The color is its own: no artificial colors are used.
    No artificial colors, only what the kitchen offers.
    - Looks like what it is.
natural flavors = with: has natural flavors
    Natural flavors that taste like the thing itself.
    Seasoned with natural flavors and a light hand.
    - Fruits, herbs and spices do the work.
dietary fiber = with: has dietary fiber
    A good source of dietary fiber in every serving.
    Dietary fiber that keeps you full for longer.
    - Helps you through the morning.
simple ingredients = with: has simple ingredients
    Simple ingredients that fit on one line.
    Made from simple ingredients you have at home.
    - Short list, long joy.
real fruit = with: is made with real fruit
    You can see the real fruit in it.
    Made with real fruit, picked ripe.
    - Sweet because fruit is sweet.
quality ingredients = with: has quality ingredients
    Quality ingredients, chosen by people who cook.
    We buy quality ingredients and get out of their way.
    - Good things in, good things out.
"""

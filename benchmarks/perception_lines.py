"""Lines that people might say in the shipped meetings, and lines that belong to none: made up, and ours.

They were written before anything was measured, as scenes: pairs of a speaker and a line, each a reply to those before.
The probe is small, and the aspects and the threshold of `nodes.perceive` were chosen with these figures in sight, beside
those of real dialogues; `HELD_OUT` was written after that.
"""

Scene = tuple[tuple[str, str], ...]

TEAM_DAY: Scene = (
    ("Cindy", "How about a canoe trip? We could start early and have lunch on the shore."),
    ("Bob", "I was thinking of something where nobody gets wet, to be honest."),
    ("Alice", "A picnic would be lovely, with blankets and something sweet."),
    ("David", "As long as it is not on a weekend."),
    ("Eva", "So far I have two ideas on my list. Let us look at dates first."),
    ("Bob", "The fifth or the twelfth of June would work for me."),
    ("Cindy", "The twelfth is perfect, it stays light until ten."),
    ("Alice", "That works for me."),
    ("David", "Fine."),
    ("Eva", "Great, then I write down the twelfth."),
    ("Bob", "What would the canoes cost? We only have forty euros each."),
    ("Cindy", "Half of that, and we bring our own sandwiches."),
    ("Alice", "I am a bit worried about the weather, last time we were soaked."),
    ("Bob", "We could rent a hall as a backup."),
    ("David", "Then why not rent the hall in the first place?"),
    ("Cindy", "Because we sit indoors all year long!"),
    ("Alice", "Maybe the ducks could vote on it."),
    ("Eva", "Ha, I will put them on the mailing list."),
    ("Bob", "Somebody has to bring a first aid kit."),
    ("Cindy", "I can ask my cousin about the boats tonight."),
    ("Alice", "And who takes care of the food?"),
    ("Bob", "I am happy to do the grill again."),
    ("David", "I have to be home by six."),
    ("Eva", "We have ten minutes left, so let us decide about the place."),
    ("Cindy", "Sounds good."),
)

MOTHERS_HOUSE: Scene = (
    ("Martin", "A cup of tea and a fortune, that is what I want."),
    ("Ruth", "This is not funny, Martin."),
    ("Jonah", "Could we start with the small things?"),
    ("Martin", "He offers two hundred and forty thousand, and he can pay at once."),
    ("Ruth", "I do not like being rushed."),
    ("Martin", "Nobody is rushing you, but he rings at six."),
    ("Jonah", "What if one of us kept it?"),
    ("Ruth", "Kept what?"),
    ("Jonah", "The whole place, with the garden."),
    ("Martin", "And who is going to pay for the roof?"),
    ("Ruth", "She never wanted strangers in here."),
    ("Martin", "She is gone, and the bills are not."),
    ("Jonah", "The hives need somebody in May at the latest."),
    ("Ruth", "I gave her my word about that."),
    ("Martin", "Then take them, they are yours."),
    ("Ruth", "I would like to have the piano, if nobody minds."),
    ("Jonah", "Of course, you are the only one who plays."),
    ("Martin", "It would not fit into my flat anyway."),
    ("Ruth", "Thank you."),
    ("Jonah", "You did so much for her all those years."),
    ("Martin", "We could split everything in three and be done with it."),
    ("Ruth", "Not everything can be split."),
    ("Jonah", "I have some money put aside."),
    ("Martin", "Since when do you have money?"),
    ("Ruth", "Let him finish."),
)

FERRY: Scene = (
    ("Callum Rae", "Without that boat I can pack up and go."),
    ("Hamish Boyd", "One boat in the evening would bring us two hundred guests more in a summer."),
    ("Jess Calder", "And how do we get to school then?"),
    ("Anjali Nair", "Eleven of my patients took it last month."),
    ("Tomasz Wilk", "Could we not have both on a Friday?"),
    ("Nadia Karim", "Two crews would be needed for that, and we have only one."),
    ("Morag Lennie", "Let us hear that in figures, please."),
    ("Nadia Karim", "It would cost about ninety thousand a year."),
    ("Callum Rae", "That is nothing compared to what you earn in July."),
    ("Effie Sinclair", "We had this quarrel before, in 1974."),
    ("Hamish Boyd", "With respect, times have changed since then."),
    ("Effie Sinclair", "The winters have not."),
    ("Tomasz Wilk", "People ask me every week why they can't stay for the music."),
    ("Jess Calder", "I would love to see a match to the end for once."),
    ("Anjali Nair", "What happens if somebody has a stroke at night?"),
    ("Ruaridh Munro", "Then I sail, as I always have."),
    ("Morag Lennie", "Thank you, that is good to know."),
    ("Ruaridh Munro", "But my men need their sleep."),
    ("Nadia Karim", "I understand, and I will write that down."),
    ("Callum Rae", "Write down that the crab won't wait either."),
    ("Hamish Boyd", "Perhaps a trial over the summer?"),
    ("Anjali Nair", "I could agree to three months."),
    ("Tomasz Wilk", "Me too."),
    ("Effie Sinclair", "And in October it is gone for good, mark my words."),
    ("Morag Lennie", "Then let us vote, we have a quarter of an hour left."),
)

#: Lines that belong to none of the meetings.
OFF_TOPIC: tuple[str, ...] = (
    "Santos beat Palmeiras two to one after extra time.",
    "You have to reinstall the printer driver and restart the spooler.",
    "Fold the egg whites into the batter and bake it at 180 degrees.",
    "The new graphics card draws three hundred watts under load.",
    "In the second act the soprano sings half a tone too low.",
    "Photosynthesis turns carbon dioxide and water into sugar.",
    "My phone updates itself every night at three.",
    "The central bank left its interest rate where it was.",
    "The dinosaurs died out sixty-six million years ago.",
    "He was sentenced to four years in prison for fraud.",
    "The volcano on Java has been erupting since Tuesday.",
    "Chapter nine explains how verbs are conjugated in Finnish.",
    "The senator withdrew from the primary election in Ohio.",
    "Her thesis is about medieval coins from Bohemia.",
    "Change the oil filter every fifteen thousand kilometres.",
    "The prime minister of Japan met the king of Sweden.",
    "A proton weighs about as much as a neutron.",
    "The film won two awards in Venice, for costume and sound.",
    "Knit two, purl two, and turn the work.",
    "The stock fell by four per cent after the quarterly report.",
    "Open the terminal and type your password twice.",
    "The rocket reached its orbit eight minutes after launch.",
    "Quicksort is slow on lists that are sorted already.",
    "The patient in the series turned out to be his twin brother.",
)

CALIBRATION: dict[str, Scene] = {"mothers_house": MOTHERS_HOUSE, "ferry_timetable": FERRY}
HELD_OUT: dict[str, Scene] = {"team_building": TEAM_DAY}

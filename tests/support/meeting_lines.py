"""Lines that people might say in the shipped meetings, and lines that belong to none: made up, and ours.

They are scenes: pairs of a speaker and a line, each a reply to those before. They were written after the aspects of
`nodes/meeting/perceive.py` were chosen; a look at them lowered the threshold to 0.12, so that figures on them flatter.
"""

Scene = tuple[tuple[str, str], ...]

TEAM_DAY: Scene = (
    ("Bob", "I say we keep it simple and meet at the park at ten."),
    ("Cindy", "Oh please, not the geese again."),
    ("Eva", "Let us collect everything first and judge later."),
    ("Alice", "My friend has a studio where we could all paint something."),
    ("David", "I can't draw."),
    ("Bob", "Nobody can, that is the fun of it."),
    ("Cindy", "We might rent bicycles and ride along the river."),
    ("Eva", "That would be twelve euros each, I looked it up."),
    ("Alice", "I like that, though my bike skills are rusty."),
    ("David", "No objection."),
    ("Bob", "Just make sure that everybody wears a helmet."),
    ("Eva", "We still need somebody to book a table for the evening."),
    ("Cindy", "I will do it tomorrow morning."),
    ("Alice", "What if it pours all day?"),
    ("Bob", "Then we go bowling, I know the owner."),
    ("David", "Bowling is at least indoors."),
    ("Cindy", "Deal."),
    ("Eva", "The director can't come in the first week."),
    ("Bob", "I really have to leave in a minute, so count me in for the nineteenth."),
    ("Alice", "Yes, let's do that."),
    ("David", "Are we done?"),
    ("Eva", "Almost, I only need a yes from each of you."),
)

MOTHERS_HOUSE: Scene = (
    ("Martin", "The price won't get any better, believe me."),
    ("Jonah", "It is not only about the price."),
    ("Ruth", "I have written down what belongs to whom."),
    ("Martin", "You and your lists."),
    ("Ruth", "Somebody had to keep them."),
    ("Jonah", "She told me that she wanted the garden looked after."),
    ("Martin", "She told each of us something else."),
    ("Ruth", "That hurts, you know."),
    ("Martin", "I am sorry, I did not mean it like that."),
    ("Jonah", "I could pay you out over ten years."),
    ("Ruth", "Ten years is a long time."),
    ("Martin", "I need it this month."),
    ("Ruth", "There is something about a loan that we have to talk about."),
    ("Martin", "Not now."),
    ("Jonah", "Better now than on the telephone."),
    ("Ruth", "All right, then I put the kettle on again."),
    ("Martin", "It is ten to six already."),
    ("Jonah", "He can wait until tomorrow."),
    ("Ruth", "I agree with that."),
    ("Martin", "Fine by me, if you ring him yourself."),
)

FERRY: Scene = (
    ("Hamish Boyd", "Thirty people could not get here last year on a Friday night."),
    ("Callum Rae", "And nineteen of us use the other one every single day."),
    ("Nadia Karim", "We have counted them, and in February it was eleven."),
    ("Jess Calder", "Six of those eleven are in my class."),
    ("Effie Sinclair", "Children should not have to lodge with strangers."),
    ("Tomasz Wilk", "My flour comes with it as well."),
    ("Anjali Nair", "Samples have to be at the laboratory by nine."),
    ("Morag Lennie", "One after the other, please."),
    ("Callum Rae", "She never lets me finish."),
    ("Ruaridh Munro", "In fog I won't go out before eight anyway."),
    ("Hamish Boyd", "There you have it."),
    ("Nadia Karim", "Two days a week might be possible."),
    ("Jess Calder", "School is on five days."),
    ("Tomasz Wilk", "I would open the café until ten if there were a boat."),
    ("Effie Sinclair", "That sounds nice for you."),
    ("Anjali Nair", "I have to go, somebody is waiting for me."),
    ("Morag Lennie", "Thank you for coming."),
    ("Callum Rae", "No deal."),
    ("Nadia Karim", "I am really sorry about that."),
    ("Morag Lennie", "Hands up who is for the compromise."),
)

OFF_TOPIC: tuple[str, ...] = (
    "The goalkeeper saved a penalty in the last minute of the cup final in Lima.",
    "Your router needs a firmware update before it can use the new channel.",
    "Let the dough rise for an hour, then brush it with egg yolk.",
    "The bassoon doubles the cellos in the slow movement.",
    "Mitochondria have a genome of their own.",
    "The court of appeal overturned the verdict on Monday.",
    "Jupiter has more moons than anybody expected.",
    "The dative comes after these four prepositions.",
    "A hedge fund bought nine per cent of the steel maker.",
    "Compile it again with the debug symbols switched on.",
    "The emperor was murdered by his own guard.",
    "She wears a size thirty-eight in Italian shoes.",
)

SCENES: dict[str, Scene] = {"team_building": TEAM_DAY, "mothers_house": MOTHERS_HOUSE, "ferry_timetable": FERRY}

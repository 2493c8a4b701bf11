"""The reports by name, with the help's line on each. Nothing is imported: the command line lists them."""

#: The name that makes all reports.
ALL = "all"

#: Reports that read stored runs and run none.
OF_RUNS = ("album", "population")

#: A line on each report: those of `papers.REPORTS` in that order, all of these, and those of stored runs.
ABOUT = {
    "table2": "Remove whole blocks of the prompt: RMb to RMbmpe beside APP's Table 2.",
    "table3": "Vary λ, temperature, top-p and sequential generation: APP's Table 3.",
    "table4": "Vary the order of blocks, and names: APP's Table 4.",
    "table6": "Measure what dialogues without memories have that the others do not: APP's Table 6.",
    "table7": "Cut blocks to 250 and 750 words: APP's Table 7.",
    "fig2": "Measure diversity over simulated time: APP's Fig. 2.",
    "fig3": "Measure diversity, and what is removed, along λ in both orders: APP's Fig. 3.",
    "fig4": "Measure diversity along λ with and without human needs: APP's Fig. 4.",
    "fig5": "Measure where attention goes after removal, and what one item does that is left: APP's Fig. 5.",
    "fig6": "Show lines that were revised, with what was removed and the judge's comment: APP's Fig. 6.",
    "fig7": "Measure inconsistency with and without revision along λ: APP's Fig. 7.",
    "fig8": "Compare the reducers of attention along λ: APP's Fig. 8.",
    "fig9": "Measure diversity utterance by utterance: APP's Fig. 9.",
    "chatagents": "Run the team-building meeting in five speaking orders: ChatAgents' Tables I and II, Fig. 4 to 6.",
    "people": "Measure whether the people of meetings become one another, along λ and with two strengths of context.",
    "arms": "Compare what λ removes with placebos: as many words at random, and the items of somebody else.",
    "ways": "Compare ways to variety at equal quality: λ, temperature, min-p, DRY, α, and what is asked for in words.",
    "scorers": "Compare what units are scored by: attention, likeness, leaving them out, length, chance.",
    "strength": "Compare strengths of context (α) along λ.",
    "plain": "Repeat Table 2 without what the embedded model's settings add.",
    ALL: "Make all of these, one after another, and a page with all verdicts and costs.",
    "album": "Compare two stored album chats, LOW and HIGH: length, variety, naming, repetition and choice, by call.",
    "population": "Measure whether people of stored runs and simulated towns become one another.",
}

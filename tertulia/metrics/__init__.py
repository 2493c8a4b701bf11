"""Measures of dialogues. Knows only the records and contracts of `state`: no model, no store.

* Diversity: `diversity`, `by_index`, `running`, `variety`, `exclusiveness`, `repetition`, `recitation`.
* Quality: `fluency`, `to_the_point`.
* Pruning: `pruning`, `post_removal`.
* People in meetings: `participation`, `behaviour`, `speech_acts`, `personality`; `published` has ChatAgents' figures.
* Album chats: `album`.
* Statistics and costs: `statistics`, `curves`, `cost`.
"""

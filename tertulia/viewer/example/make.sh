#!/bin/sh
# make.sh STORE: the conversations of the example, of the embedded model, each with the first seed.
set -e
export TERTULIA_STORE="$1"

# One conversation at three λ, scored in all, and a fork of it.
for factor in 0 1 0.5; do
  tertulia run tidewell:3 --lambda "$factor" --set record_scores=true --rounds 8 --seed 1 --label "λ = $factor"
done
tertulia fork @last --at 4 --lambda 0.9 --label "forked at turn 4: λ = 0.9"

# A meeting, and an album chat.
tertulia run mothers_house --rounds 8 --seed 1
tertulia run villagers --set agents=4 --rounds 3 --seed 1

# A day of a town.
tertulia simulate tidewell --days 1 --encounters-per-day 3 --seed 1 --set max_turns=5

# An experiment: three cases at three λ.
tertulia sweep tidewell:1 tidewell:3 tidewell:6 --lambda 0,0.5,1 --trials 2 --rounds 4 --seed 1 --name example --workers 1

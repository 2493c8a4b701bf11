#!/bin/sh
# make.sh STORE: the conversations of the example, of the embedded model, each with the first seed.
# All but the experiment are scored at λ = 0 too, so that the page can show what another λ would remove.
set -e
export TERTULIA_STORE="$1"

# An experiment: all cases of the town at three λ, their first two lines, in which memories count most.
tertulia sweep tidewell:all --lambda 0,0.5,1 --trials 3 --rounds 2 --seed 1 --name example --workers 1
tertulia lab compare example --metric entropy --metric divergence --fluency-model none --out "$(dirname "$1")/reports"

# A day of a town, and the same encounters at another λ.
for factor in 0 0.5; do
  tertulia simulate tidewell --lambda "$factor" --set record_scores=true --days 1 --encounters-per-day 4 --seed 1 --set max_turns=4
done

# An album chat and a meeting, each at two λ.
for factor in 0 0.5; do
  tertulia run villagers --lambda "$factor" --set record_scores=true --set agents=4 --rounds 3 --seed 1
done
for factor in 0 0.5; do
  tertulia run mothers_house --lambda "$factor" --set record_scores=true --rounds 8 --seed 1
done

# One conversation at three λ, and a fork of it.
for factor in 0 1 0.5; do
  tertulia run tidewell:3 --lambda "$factor" --set record_scores=true --rounds 8 --seed 1 --label "λ = $factor"
done
tertulia fork @last --at 4 --lambda 0.9 --label "forked at turn 4: λ = 0.9"

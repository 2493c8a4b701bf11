"""What models answer about stored runs: traits, behaviour, speech acts."""

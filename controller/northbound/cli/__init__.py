"""The command line's side of the API: a small client and the verbs of `overclos` that use it."""

"""From a model's words to actions: parser, patterns, wrapper."""

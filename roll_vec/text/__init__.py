"""The way from a model's text to an action, and one step with it.

::

    "<think>box right</think><answer>Right</answer>"      a model's text
        | validation: it is a str
        | action_parser: special tokens deleted
        | patterns: content "Right", thinking "box right"
        | action_parser: name -> code
    4                                                     an action
        | turn: play it, or one after the other; add the penalty
    reward, infos action_content, think_content, action_is_valid

The files in reading order:

``options``        the keywords: pattern, special tokens, penalty, separator
``action_parser``  ROLL's rules: from a text, or a batch of texts, to actions
``patterns``       matchers: find content and thinking in a text
``turn``           the rule of a step with a text, for one environment and for a batch
``wrapper``        lets text act in environments that are objects
``validation``     checks of text actions
``level_env``      the base of games of text that have levels
"""

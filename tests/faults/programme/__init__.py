"""The fault programme: thousands of occurrences while processes die at every labelled point, judged from outside."""

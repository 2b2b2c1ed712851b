"""The words of a design review and what they mean."""

from typing import Final

GLOSSARY: Final = (
    (
        "Bottleneck",
        "The link or port that holds a flow back: it is full, and no other limits the flow more.",
    ),
    (
        "Budget",
        "How a percentile of a request's time is shared out among the segments of its path; "
        "the shares add up to it.",
    ),
    (
        "Candidate site",
        "A place where the project allows models to be hosted.",
    ),
    (
        "Effective bandwidth",
        "What a flow gets of its port after overhead, load balancing, contention and background.",
    ),
    (
        "Guessed",
        "A value that nobody gave and no source has; marked wherever it decides something.",
    ),
    (
        "Hot link",
        "A direction of a link whose load passes the project's limit in the busiest hour.",
    ),
    (
        "ITL",
        "Inter-token latency: the gap between two tokens of an answer as the user sees it.",
    ),
    (
        "KV cache",
        "What a model keeps of the tokens that it has read, so that it need not read them again.",
    ),
    (
        "One-way",
        "The time from sender to receiver; a round trip is there and back.",
    ),
    (
        "Oversubscription",
        "The capacity below a switch over the capacity above it; 3:1 means that a third gets "
        "out at once.",
    ),
    (
        "p50, p95, p99",
        "Percentiles: 50, 95 or 99 of a hundred requests take this long or less. Percentiles "
        "of parts do not add up.",
    ),
    (
        "Prefill, decode",
        "Reading the prompt, which ends with the first token; then writing one token after "
        "the other.",
    ),
    (
        "Residency",
        "The places where a service's prompts and data may go.",
    ),
    (
        "SLO",
        "Service level objective: a promise that a percentile of a time stays within a limit.",
    ),
    (
        "TPOT",
        "Time per output token: the mean gap of one request.",
    ),
    (
        "TTFT",
        "Time to first token: from sending a request to seeing the first token of its answer.",
    ),
    (
        "Utilisation",
        "Load over capacity of one direction of a link; above 1 the queue grows without end.",
    ),
    (
        "Verdict",
        "How likely an SLO is met: meets from 95 %, likely from 75 %, open from 25 %, "
        "unlikely from 5 %, breaks below; unknown where an input is.",
    ),
)

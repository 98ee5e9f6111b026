"""Summaries: who writes them, how a span is folded into one, and what must not get lost in it."""

from __future__ import annotations

from lovia.context.summarizer.extractive import ExtractiveSummarizer
from lovia.context.summarizer.folding import FoldOutcome, FoldStep, fold
from lovia.context.summarizer.llm import LLMSummarizer
from lovia.context.summarizer.protocol import SizedSummarizer, Summarizer, Summary

__all__ = [
    "ExtractiveSummarizer",
    "FoldOutcome",
    "FoldStep",
    "LLMSummarizer",
    "SizedSummarizer",
    "Summarizer",
    "Summary",
    "fold",
]

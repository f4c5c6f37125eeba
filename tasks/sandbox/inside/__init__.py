"""The launcher: what runs between a host and a program that nobody trusts, in an interpreter of its own.

It is started by path, not as a part of thoughtree, and imports what is cheap to import and nothing else: it is to
cost no more than a bare interpreter. Host and launcher share no memory; `launch.main` says what passes between them.
"""

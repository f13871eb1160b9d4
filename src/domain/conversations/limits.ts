/** What a conversation may have, how many there may be, and how long one waits for what has died. */

/** Bytes of JSON: as much as a request may have. An RPC message has 32 MiB at most. */
export const MAX_BYTES = 10_000_000;

/** As many are read and parsed at any time; where there are more, few are at a time. */
export const SMALL_BYTES = 128 * 1024;

/** Conversations of an account: each is a Durable Object, whose storage costs $0.20 per GB and month. */
export const MAX_CONVERSATIONS = 10_000;

/** How long what has begun a response may leave it without a prediction: then it has died. */
export const BEGIN_MS = 60_000;

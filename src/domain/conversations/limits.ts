/** Limits of conversations: their size, their number, and how long a response that has died blocks one. */

/** Bytes of JSON: as much as a request may have. An RPC message has 32 MiB at most. */
export const MAX_BYTES = 10_000_000;

/** Conversations of this size are read and parsed without limit; larger ones few at a time. */
export const SMALL_BYTES = 128 * 1024;

/** Conversations of an account: each is a Durable Object, whose storage costs $0.20 per GB and month. */
export const MAX_CONVERSATIONS = 10_000;

/** How long a response that was begun may have no prediction: after that its caller has died. */
export const BEGIN_MS = 60_000;

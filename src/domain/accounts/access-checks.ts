/** How long a runner token counts as valid after D1 was asked about it. */
export const TOKEN_MS = 10_000;
/** How often those who read a stream are checked: it outlives the request that authenticated them. */
export const CHECK_MS = 5_000;
/** A cached check of this age is not repeated. With CHECK_MS, access ends in less than 10 s. */
export const RECENT_CHECK_MS = 4_000;

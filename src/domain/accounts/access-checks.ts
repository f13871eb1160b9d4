/** How long a runner token counts as valid after D1 was asked about it. */
export const TOKEN_MS = 10_000;
/** How often the readers of a stream are checked: it outlives the request that authenticated them. */
export const CHECK_MS = 5_000;
/** The age up to which a cached check is not repeated. With CHECK_MS, access ends in less than 10 s. */
export const RECENT_CHECK_MS = 4_000;

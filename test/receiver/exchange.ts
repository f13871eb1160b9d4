/** The behaviours of a receiver, and its records of requests. For tests in Node and in workerd. */

export type Behaviour = Answer | Trouble;

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** Time from the request's last byte to the answer's first, ms. */
  afterMs?: number;
  /** The answer is sent when the test releases it. */
  held?: true;
  /** The body does not end: nothing comes after the text. */
  open?: true;
}

export type Trouble =
  /** A RST when the whole request has come. */
  | "reset"
  /** A RST when its headers have come: the body is not read. */
  | "reset-at-headers"
  /** An orderly end of the connection, without a byte. */
  | "hang-up"
  /** The request is taken, and nothing ever comes. */
  | "silent"
  /** A 200 byte by byte, every 20 ms, whose headers never end. */
  | "trickle"
  /** A 200 whose body is announced and never comes. */
  | "stalled"
  /** A 200 whose body ends before its announced length. */
  | "short"
  /** A 200 whose body never ends, as fast as it is read: `sent` counts it. */
  | "endless"
  /** A 200 with 4 MiB of headers. */
  | "huge-headers"
  /** A 103 before the 200. */
  | "hints"
  /** Bytes that are no HTTP. */
  | "garbage"
  /** Half a status line, then the end. */
  | "half";

export interface Received {
  /** The number of the request, from 0, in order of arrival, over all paths. */
  index: number;
  /** The number of the connection that brought the request, from 1. */
  connection: number;
  method: string;
  path: string;
  /** The query with its question mark; empty without a query. */
  query: string;
  /** Headers with names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** The time at which the body had come, unix ms. */
  at: number;
  /** Bytes of the body that were sent in return; only for "endless". */
  sent: number;
  /** Whether the answer has been sent to its end, or the connection is gone. */
  over: boolean;
}

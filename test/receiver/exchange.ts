/** What a receiver is told to do with a request, and what it remembers of one. Of tests in Node and in workerd. */

export type Behaviour = Answer | Trouble;

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** From the request's last byte to the answer's first, ms. */
  afterMs?: number;
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
  /** From 0, in order of arrival, over all paths. */
  index: number;
  /** Which connection brought it, from 1. */
  connection: number;
  method: string;
  path: string;
  /** With its question mark; empty without one. */
  query: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** When its body had come, ms since 1970. */
  at: number;
  /** Bytes of the body that were sent in return: of "endless" only. */
  sent: number;
  /** Whether the answer is out to its end, or the connection gone. */
  over: boolean;
}

/** W3C Trace Context: the trace that a prediction belongs to, and the ids of its spans. */
import { hex } from "../../lib/hex.ts";

/** A prediction has this only where it is traced. */
export interface Trace {
  trace_id: string;
  /** The caller's span; null for a trace that begins here. */
  parent_id: string | null;
  /** The first of the ids of the prediction's spans, which count from it: none has to be stored. */
  span_id: string;
  /** The request's method and the path of its route, without values. */
  route: string;
}

/** A request as far as traces need it. */
export interface TracedRequest {
  route: string;
  traceparent: string | undefined;
}

interface Incoming {
  trace_id: string;
  parent_id: string;
  isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
const SAMPLED = 1;

/** Returns the trace that a `traceparent` names; undefined where it is missing or invalid, as if there were none. */
export function readTraceparent(header: string | undefined): Incoming | undefined {
  const [, version, trace_id = "", parent_id = "", flags = "", rest] =
    TRACEPARENT.exec(header?.trim() ?? "") ?? [];
  // Later versions may add fields; version 00 has none, and ff is forbidden.
  if (version === undefined || version === "ff" || (version === "00" && rest)) return undefined;
  if (ZEROS.test(trace_id) || ZEROS.test(parent_id)) return undefined;
  return { trace_id, parent_id, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/**
 * Returns the trace of a new prediction; undefined if it is not sampled. The caller decides for a trace of its
 * own, the sample rate for all others.
 */
export function beginTrace(
  { route, traceparent }: TracedRequest,
  sampleRate: number,
): Trace | undefined {
  const incoming = readTraceparent(traceparent);
  if (!(incoming ? incoming.isSampled : Math.random() < sampleRate)) return undefined;
  return {
    trace_id: incoming?.trace_id ?? randomHex(16),
    parent_id: incoming?.parent_id ?? null,
    span_id: randomHex(8),
    route,
  };
}

/** Returns the id of a span that is not one of an attempt. */
export const newSpanId = (): string => randomHex(8);

const randomHex = (bytes: number) => hex(crypto.getRandomValues(new Uint8Array(bytes)));

/** Spans of an attempt. A failed attempt has only `run`, the parent of what its container reports. */
const SPANS = { run: 0, queue: 1, setup: 2, pull: 3, start: 4 };
const SPANS_PER_ATTEMPT = 8;

/** @param attempt from 1; 0 for a wait that ended without one */
export const spanIdOf = ({ span_id }: Trace, attempt: number, span: keyof typeof SPANS): string =>
  BigInt.asUintN(64, BigInt(`0x${span_id}`) + BigInt(attempt * SPANS_PER_ATTEMPT + SPANS[span]))
    .toString(16)
    .padStart(16, "0");

/** Returns the header with which the container of an attempt continues the trace. */
export const traceparentOf = (trace: Trace, attempt: number): string =>
  `00-${trace.trace_id}-${spanIdOf(trace, attempt, "run")}-01`;

/**
 * Spans as OTLP has them in JSON: ids in hexadecimal, times in nanoseconds as text, enums as numbers. Messages
 * of the queue of traces, and what is sent to the operator's collector.
 */
import { z } from "zod";

const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;
const NANOSECONDS = /^\d{1,20}$/;

const spanId = z.string().regex(SPAN_ID);
const nanoseconds = z.string().regex(NANOSECONDS);

const attribute = z.object({
  key: z.string(),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.string() }),
    z.strictObject({ doubleValue: z.number() }),
  ]),
});
export type Attribute = z.infer<typeof attribute>;

export const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
export const STATUS_ERROR = 2;

const span = z.object({
  traceId: z.string().regex(TRACE_ID),
  spanId,
  parentSpanId: spanId.optional(),
  name: z.string(),
  kind: z.literal(Object.values(SPAN_KINDS)),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes: z.array(attribute),
  /** Without a code, the status is not set: nothing failed. */
  status: z.object({ code: z.literal(STATUS_ERROR).optional() }),
});
export type Span = z.infer<typeof span>;

/** Queue `traces`: the spans of one prediction. */
export const traceMessage = z.object({ spans: z.array(span) });
export type TraceMessage = z.infer<typeof traceMessage>;

/** Returns the body of a request to a collector. */
export const exportRequest = (spans: Span[]) => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "auspex" } }] },
      scopeSpans: [{ scope: { name: "auspex" }, spans }],
    },
  ],
});

/** A collector's answer. Spans that it has rejected are not to be sent again. */
export const exportResponse = z.object({
  partialSuccess: z.object({ rejectedSpans: z.coerce.number().default(0) }).nullish(),
});

/** The header of W3C Trace Context, as runners and containers get it. */
export const traceparent = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);

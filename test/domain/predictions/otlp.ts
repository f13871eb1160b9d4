/**
 * A strict reader of OTLP's trace requests in JSON, from the published protocol: trace_service.proto, trace.proto
 * and common.proto of opentelemetry-proto 1, by the JSON encoding of its specification. Names are in camel case,
 * ids in hexadecimal, enums are numbers, and 64-bit integers are texts. A name that the protocol does not have
 * is refused.
 */
import { z } from "zod";

const NO_ID = /^0+$/;
const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_INT64 = 2n ** 63n - 1n;

const idOf = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`))
    .refine((id) => !NO_ID.test(id), "an id of zeros is invalid");

const fixed64 = z
  .string()
  .regex(/^(?:0|[1-9]\d*)$/)
  .refine((text) => BigInt(text) <= MAX_UINT64, "more than 64 bits");

const int64 = z
  .string()
  .regex(/^(?:0|-?[1-9]\d*)$/)
  .refine((text) => BigInt(text) <= MAX_INT64 && BigInt(text) >= -MAX_INT64 - 1n);

const uint32 = z.int().min(0).max(0xffffffff);

/** Exactly one of the kinds of value. */
const anyValue = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: int64 }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(z.unknown()) }) }),
  z.strictObject({ kvlistValue: z.strictObject({ values: z.array(z.unknown()) }) }),
  z.strictObject({ bytesValue: z.base64() }),
]);

const keyValue = z.strictObject({ key: z.string().min(1), value: anyValue });

/** Keys of attributes must not repeat. */
const attributes = z
  .array(keyValue)
  .refine((all) => new Set(all.map(({ key }) => key)).size === all.length, "a key repeats");

const event = z.strictObject({
  timeUnixNano: fixed64,
  name: z.string().min(1),
  attributes: attributes.optional(),
  droppedAttributesCount: uint32.optional(),
});

const link = z.strictObject({
  traceId: idOf(16),
  spanId: idOf(8),
  traceState: z.string().optional(),
  attributes: attributes.optional(),
  droppedAttributesCount: uint32.optional(),
  flags: uint32.optional(),
});

const span = z
  .strictObject({
    traceId: idOf(16),
    spanId: idOf(8),
    traceState: z.string().optional(),
    parentSpanId: idOf(8).optional(),
    flags: uint32.optional(),
    name: z.string().min(1),
    kind: z.literal([0, 1, 2, 3, 4, 5]),
    startTimeUnixNano: fixed64,
    endTimeUnixNano: fixed64,
    attributes: attributes.optional(),
    droppedAttributesCount: uint32.optional(),
    events: z.array(event).optional(),
    droppedEventsCount: uint32.optional(),
    links: z.array(link).optional(),
    droppedLinksCount: uint32.optional(),
    status: z
      .strictObject({
        message: z.string().optional(),
        code: z.literal([0, 1, 2]).optional(),
      })
      .optional(),
  })
  .refine(
    (one) => BigInt(one.startTimeUnixNano) <= BigInt(one.endTimeUnixNano),
    "it ends before it starts",
  );
export type OtlpSpan = z.infer<typeof span>;

export const otlpSpans = z.array(span);

const scopeSpans = z.strictObject({
  scope: z
    .strictObject({
      name: z.string().optional(),
      version: z.string().optional(),
      attributes: attributes.optional(),
      droppedAttributesCount: uint32.optional(),
    })
    .optional(),
  spans: otlpSpans,
  schemaUrl: z.string().optional(),
});

const resourceSpans = z.strictObject({
  resource: z
    .strictObject({
      attributes: attributes.optional(),
      droppedAttributesCount: uint32.optional(),
    })
    .optional(),
  scopeSpans: z.array(scopeSpans),
  schemaUrl: z.string().optional(),
});

export const otlpRequest = z.strictObject({ resourceSpans: z.array(resourceSpans) });

/** Returns the value of an attribute: a number, also of 64 bits, or a text. */
export function attributeOf({ attributes = [] }: OtlpSpan, key: string): unknown {
  const value = attributes.find((one) => one.key === key)?.value;
  if (!value) return undefined;
  return "intValue" in value ? Number(value.intValue) : Object.values(value)[0];
}

/** Plans of requests for an operation of the document. */
import fc from "fast-check";
import { findSignature } from "../../../../src/openapi/parameters.ts";
import {
  type DocumentedOperation,
  type InlineSchema,
  resolveSchema,
  type Schema,
} from "../../../../src/openapi/types.ts";
import { bodyOf, parametersOf } from "../document.ts";
import { type Caller, type Callers, callerOf } from "./callers.ts";
import { hostileText, hostileValue } from "./hostile.ts";
import { CALL } from "./send.ts";
import { TRICKS, type Trick } from "./tricks.ts";
import { type Source, valid } from "./valid.ts";

function mistaken(from: Source, schema: Schema, field = ""): fc.Arbitrary<unknown> {
  const inline = resolveSchema(schema, from.schemas);
  const here = fc.oneof(hostileValue, ...beyond(inline), ...resized(from, inline, field));
  const inside = within(from, inline, field);
  if (inside.length === 0) return here;
  return fc.oneof({ weight: 1, arbitrary: here }, { weight: 3, arbitrary: fc.oneof(...inside) });
}

/** Returns values one step outside each limit, and near misses of the choices. */
function beyond(schema: InlineSchema): fc.Arbitrary<unknown>[] {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength } = schema;
  const values: unknown[] = [];
  if (minimum !== undefined) values.push(minimum - 1, minimum - 0.5);
  if (maximum !== undefined) values.push(maximum + 1, maximum + 0.5);
  if (exclusiveMinimum !== undefined) values.push(exclusiveMinimum, 0, -1);
  if (minLength) values.push("a".repeat(minLength - 1));
  if (maxLength !== undefined) values.push("a".repeat(maxLength + 1), "🐙".repeat(maxLength));
  for (const one of schema.enum ?? []) values.push(`${one} `, String(one).toUpperCase(), [one]);
  return values.length > 0 ? [fc.constantFrom(...values)] : [];
}

/** A longer list of items would exceed the limit of a body. */
const MAX_ITEMS = 10_000;

/** Returns lists that are too long or too short, and objects that lack a field or have one too many. */
function resized(from: Source, schema: InlineSchema, field: string): fc.Arbitrary<unknown>[] {
  const { items, minItems, maxItems, properties, required = [] } = schema;
  const made: fc.Arbitrary<unknown>[] = [];
  if (items && maxItems !== undefined && maxItems <= MAX_ITEMS) {
    const size = { minLength: maxItems + 1, maxLength: maxItems + 1 };
    made.push(fc.array(valid(from, items, field), size));
  }
  if (items && minItems) made.push(fc.constant([]));
  if (!properties) return made;
  const whole = valid(from, schema);
  for (const name of required)
    made.push(whole.map((value) => ({ ...Object(value), [name]: undefined })));
  const extra = fc.tuple(whole, hostileText, hostileValue);
  made.push(extra.map(([value, name, more]) => Object.fromEntries(entriesWith(value, name, more))));
  return made;
}

const entriesWith = (value: unknown, name: string, more: unknown): [string, unknown][] => [
  ...Object.entries(Object(value)),
  [name, more],
];

/** Returns values with the mistake in one of their parts. */
function within(from: Source, schema: InlineSchema, field: string): fc.Arbitrary<unknown>[] {
  const { items, properties = {}, anyOf = [], oneOf = [] } = schema;
  const made = [...anyOf, ...oneOf].map((choice) => mistaken(from, choice, field));
  if (items) {
    const list = fc.array(valid(from, items, field), { maxLength: 2 });
    made.push(fc.tuple(list, mistaken(from, items, field)).map(([all, bad]) => [...all, bad]));
  }
  for (const [name, part] of Object.entries(properties)) {
    const both = fc.tuple(valid(from, schema), mistaken(from, part, name));
    made.push(both.map(([value, bad]) => ({ ...Object(value), [name]: bad })));
  }
  return made;
}

/** The parameters of a request by name; a body is any JSON value. */
interface Parts {
  path: object;
  /** Path parameters with wrong values. */
  wrong: object;
  query: object;
  header: object;
  body: unknown;
}

export interface Plan extends Parts {
  target: DocumentedOperation;
  caller: Caller;
  /** The number of the known place that the path names; undefined for the values of `path` only. */
  place: number | undefined;
  /** The number of the earlier answer whose address and body are sent, in place of path and query. */
  again: number | undefined;
  /** A last change of the request, beyond what the document declares. */
  trick: Trick | undefined;
}

/** Returns plans that the document allows, or that have one mistake. */
export function plans(
  target: DocumentedOperation,
  from: Source,
  callers: Callers,
): fc.Arbitrary<Plan> {
  return fc
    .record({
      parts: partsOf(target, from),
      caller: callerOf(callers, target.operation.security),
      // A PUT names something new in half of the plans.
      place: fc.option(fc.nat(100), { nil: undefined, freq: target.method === "put" ? 2 : 6 }),
      again: againOf(target),
      trick: rarely(fc.constantFrom(...TRICKS), 7),
    })
    .map(({ parts, ...rest }) => ({ target, ...rest, ...parts }));
}

/**
 * Returns plans without a mistake, for a caller who may do it: they name what exists, and do not wait for a
 * prediction to end.
 */
export const validPlans = (
  target: DocumentedOperation,
  { callable, ...from }: Source & { callable: string },
  caller: Caller,
): fc.Arbitrary<Plan> =>
  fc
    .record({
      parts: fc.record(goodPartsOf(target, from)),
      // The newest is most likely to exist.
      place: fc.oneof(fc.constant(-1), fc.nat(100)),
      again: isChained(target) ? fc.nat(100) : fc.constant(undefined),
    })
    .map(({ parts, ...rest }) => ({
      ...{ target, caller, trick: undefined, ...rest, ...parts },
      header: { ...parts.header, ...("prefer" in parts.header && { prefer: "wait=0" }) },
      body: CALL.test(`/v1${target.path}`)
        ? { ...Object(parts.body), model: callable }
        : parts.body,
    }));

/**
 * Some requests need the address of an earlier answer: signatures, ETags of a completion, runs of a model, and
 * invitations.
 */
const isChained = ({ method, path, operation }: DocumentedOperation): boolean =>
  findSignature(operation) !== undefined ||
  path.endsWith("/complete") ||
  (method === "post" && /\/examples$|^\/user\/organizations$/.test(path));

const againOf = (target: DocumentedOperation) => {
  if (isChained(target)) return fc.option(fc.nat(100), { nil: undefined, freq: 4 });
  return target.method === "get" ? rarely(fc.nat(100), 4) : fc.constant(undefined);
};

const rarely = <T>(arbitrary: fc.Arbitrary<T>, oneIn: number) =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Returns the schemas of the parts of a request. */
function schemasOf({ operation }: DocumentedOperation) {
  const of = (place: string): InlineSchema => {
    const own = parametersOf(operation).filter((one) => one.in === place);
    return {
      type: "object",
      properties: Object.fromEntries(own.map(({ name, schema = {} }) => [name, schema])),
      required: own.filter(({ required }) => required).map(({ name }) => name),
    };
  };
  return { path: of("path"), query: of("query"), header: of("header"), body: bodyOf(operation) };
}

function goodPartsOf(target: DocumentedOperation, from: Source) {
  const { path, query, header, body } = schemasOf(target);
  return {
    path: valid(from, path).map(toObject),
    wrong: fc.constant({}),
    query: valid(from, query).map(toObject),
    header: valid(from, header).map(toObject),
    body: body ? valid(from, body) : fc.constant(undefined),
  };
}

function partsOf(target: DocumentedOperation, from: Source): fc.Arbitrary<Parts> {
  const good = goodPartsOf(target, from);
  const { path, query, header, body } = schemasOf(target);
  return fc.oneof(
    { weight: 4, arbitrary: fc.record(good) },
    ...Object.entries(path.properties ?? {}).map(([name, schema]) =>
      fc.record({ ...good, wrong: mistaken(from, schema).map((value) => ({ [name]: value })) }),
    ),
    fc.record({ ...good, query: mistaken(from, query).map(toObject) }),
    fc.record({ ...good, header: mistaken(from, header).map(toObject) }),
    ...(body ? [{ weight: 4, arbitrary: fc.record({ ...good, body: mistaken(from, body) }) }] : []),
  );
}

const toObject = (value: unknown): object => Object(value);

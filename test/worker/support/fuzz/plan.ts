/** Plans of requests for an operation of the document. */
import fc from "fast-check";
import { findSignature } from "../../../../src/openapi/parameters.ts";
import type { DocumentedOperation, InlineSchema } from "../../../../src/openapi/types.ts";
import { bodyOf, parametersOf } from "../document.ts";
import { type Caller, type Callers, callerOf } from "./callers.ts";
import { mistaken } from "./mistaken.ts";
import { TRICKS, type Trick } from "./tricks.ts";
import { type Source, valid } from "./valid.ts";

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
 * Some requests need the address of an earlier answer: signatures, ETags of a completion, and runs of a
 * model.
 */
const againOf = ({ method, path, operation }: DocumentedOperation) => {
  const isChained = path.endsWith("/complete") || (method === "post" && path.endsWith("/examples"));
  if (findSignature(operation) || isChained)
    return fc.option(fc.nat(100), { nil: undefined, freq: 4 });
  return method === "get" ? rarely(fc.nat(100), 4) : fc.constant(undefined);
};

const rarely = <T>(arbitrary: fc.Arbitrary<T>, oneIn: number) =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

function partsOf({ operation }: DocumentedOperation, from: Source): fc.Arbitrary<Parts> {
  const of = (place: string): InlineSchema => {
    const own = parametersOf(operation).filter((one) => one.in === place);
    return {
      type: "object",
      properties: Object.fromEntries(own.map(({ name, schema = {} }) => [name, schema])),
      required: own.filter(({ required }) => required).map(({ name }) => name),
    };
  };
  const [path, query, header, body] = [of("path"), of("query"), of("header"), bodyOf(operation)];
  const good = {
    path: valid(from, path).map(toObject),
    wrong: fc.constant({}),
    query: valid(from, query).map(toObject),
    header: valid(from, header).map(toObject),
    body: body ? valid(from, body) : fc.constant(undefined),
  };
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

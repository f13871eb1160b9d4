/**
 * Tools that a caller does not have itself: a search on the web, say. Few containers have any, and
 * those that have say so in the input schema of their version. For the others they are left out
 * where the model need not use them.
 */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** The caller's own: what becomes of a call of theirs is the caller's business. */
const OWN = ["function", "custom", "namespace"];

export interface Hosted {
  /** Without them. */
  request: Fields;
  /** Their types. */
  leftOut: string[];
  /** One that has to be used, or undefined. */
  demanded: string | undefined;
}

/** @param schema of the version's input: names what it has in `tools`, by their `type` */
export function withoutHosted(request: Fields, schema: Fields): Hosted {
  const { tools, tool_choice: choice } = request;
  const has = typesIn(fieldsOf(fieldsOf(fieldsOf(schema.properties).tools).items));
  const isMissing = (tool: Json) => {
    const type = textOf(fieldsOf(tool).type);
    // What has no type is a mistake, and said to be one.
    return type !== "" && !OWN.includes(type) && !has.has(type);
  };
  const kept = listOf(tools).filter((tool) => !isMissing(tool));
  const missing = listOf(tools).filter(isMissing);
  const leftOut = [...new Set(missing.map((tool) => textOf(fieldsOf(tool).type)))];
  const { type, mode, tools: allowed } = fieldsOf(choice);
  if (type !== "allowed_tools") {
    const forced = choice === "required" && kept.length === 0 ? leftOut[0] : undefined;
    const demanded =
      typeof choice === "object" && type && isMissing(choice) ? textOf(type) : forced;
    const rest = missing.length === 0 ? request : { ...request, tools: kept };
    return { request: rest, leftOut, demanded };
  }
  const open = listOf(allowed).filter((tool) => !isMissing(tool));
  const closed = listOf(allowed).find(isMissing);
  const demanded =
    mode === "required" && open.length === 0
      ? textOf(fieldsOf(closed).type) || undefined
      : undefined;
  return {
    request: { ...request, tools: kept, tool_choice: { ...fieldsOf(choice), tools: open } },
    leftOut,
    demanded,
  };
}

function typesIn({ properties, anyOf, oneOf }: Fields): Set<string> {
  const { const: only, enum: some } = fieldsOf(fieldsOf(properties).type);
  const types = [only ?? null, ...listOf(some)].map(textOf).filter(Boolean);
  const inner = [...listOf(anyOf), ...listOf(oneOf)].flatMap((one) => [...typesIn(fieldsOf(one))]);
  return new Set([...types, ...inner]);
}

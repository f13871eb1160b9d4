/** The caller's tools, as a container gets them. */

import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";

/** Types of tools that the caller runs itself. */
export const CALLER_TOOLS = ["function", "custom", "namespace"];

export interface WithoutHostedTools {
  request: Fields;
  omittedTypes: string[];
  /** The type of an omitted tool that the request requires, or undefined. */
  requiredType: string | undefined;
}

/** @param schema of the version's input, which lists the `type` of each hosted tool in `tools` */
export function withoutHostedTools(request: Fields, schema: Fields): WithoutHostedTools {
  const { tools, tool_choice: choice } = request;
  const has = toolTypesIn(schema);
  const isMissing = (tool: Json) => {
    const type = textOf(fieldsOf(tool).type);
    // A tool without a type is passed on: the container reports the error.
    return type !== "" && !CALLER_TOOLS.includes(type) && !has.has(type);
  };
  const kept = listOf(tools).filter((tool) => !isMissing(tool));
  const missing = listOf(tools).filter(isMissing);
  const omittedTypes = [...new Set(missing.map((tool) => textOf(fieldsOf(tool).type)))];
  const { type, mode, tools: allowed } = fieldsOf(choice);
  if (type !== "allowed_tools") {
    const forced = choice === "required" && kept.length === 0 ? omittedTypes[0] : undefined;
    const requiredType =
      typeof choice === "object" && type && isMissing(choice) ? textOf(type) : forced;
    const rest = missing.length === 0 ? request : { ...request, tools: kept };
    return { request: rest, omittedTypes, requiredType };
  }
  const open = listOf(allowed).filter((tool) => !isMissing(tool));
  const closed = listOf(allowed).find(isMissing);
  const requiredType =
    mode === "required" && open.length === 0
      ? textOf(fieldsOf(closed).type) || undefined
      : undefined;
  return {
    request: { ...request, tools: kept, tool_choice: { ...fieldsOf(choice), tools: open } },
    omittedTypes,
    requiredType,
  };
}

export const toolTypesIn = (schema: Fields): Set<string> =>
  typesIn(fieldsOf(fieldsOf(fieldsOf(schema.properties).tools).items));

function typesIn({ properties, anyOf, oneOf }: Fields): Set<string> {
  const { const: only, enum: some } = fieldsOf(fieldsOf(properties).type);
  const types = [only ?? null, ...listOf(some)].map(textOf).filter(Boolean);
  const inner = [...listOf(anyOf), ...listOf(oneOf)].flatMap((one) => [...typesIn(fieldsOf(one))]);
  return new Set([...types, ...inner]);
}

/**
 * The names under which a container gets the caller's tools. All containers support functions, few
 * support more: a tool of a namespace becomes a function whose name contains both names, and a custom
 * tool becomes a function with one string. The same request always gives the same names, so nothing
 * is stored.
 */

/** The longest name: some servers refuse longer ones. */
const MAX_NAME = 64;

export interface CallerTool {
  plain: string;
  type: "function" | "custom";
  namespace: string | undefined;
  name: string;
}

/** Returns the name of a tool in the container, unless another tool has the same. */
const qualifiedName = (namespace: string, name: string) =>
  namespace === "" || namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;

export class ToolNames {
  readonly #byPlain = new Map<string, CallerTool>();
  readonly #byOwn = new Map<string, CallerTool>();
  /** How many tools have been renamed because of a name, by that name. */
  readonly #more = new Map<string, number>();

  constructor(tools: Json | undefined) {
    const all = listOf(tools).map(fieldsOf);
    // Tools outside of namespaces are added first, so that they keep their names.
    for (const tool of all) this.#add(tool, undefined);
    for (const { type, name, tools: within } of all) {
      if (type !== "namespace") continue;
      for (const tool of listOf(within)) this.#add(fieldsOf(tool), textOf(name));
    }
  }

  called(plain: string): CallerTool | undefined {
    return this.#byPlain.get(plain);
  }

  /** The name in the container of a caller's tool, also of one from an earlier turn. */
  plain(namespace: Json | undefined, name: Json | undefined): string {
    const [within, own] = [textOf(namespace), textOf(name)];
    return this.#byOwn.get(keyOf(within, own))?.plain ?? qualifiedName(within, own);
  }

  #add({ type, name: given }: Fields, namespace: string | undefined): void {
    if (type !== "function" && type !== "custom") return;
    const name = textOf(given);
    const key = keyOf(namespace ?? "", name);
    if (this.#byOwn.has(key)) return;
    const plain = namespace === undefined ? name : this.#unused(qualifiedName(namespace, name));
    const tool = { plain, type, namespace, name } as const;
    this.#byOwn.set(key, tool);
    this.#byPlain.set(plain, tool);
  }

  #unused(wanted: string): string {
    const base = wanted.slice(0, MAX_NAME);
    let name = base;
    while (this.#byPlain.has(name)) {
      const count = (this.#more.get(base) ?? 1) + 1;
      this.#more.set(base, count);
      name = `${base.slice(0, MAX_NAME - String(count).length - 1)}_${count}`;
    }
    return name;
  }
}

const keyOf = (namespace: string, name: string) => JSON.stringify([namespace, name]);

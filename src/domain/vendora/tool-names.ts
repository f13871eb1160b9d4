/**
 * What containers know a caller's tools by. All of them take functions and few take more, so the
 * tools of a namespace become functions with both names in one, and a custom tool becomes a
 * function of one string. Made of the same request the names are always the same: nothing is kept.
 */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** Longer names are refused by some servers. */
const MAX_NAME = 64;

export interface CallerTool {
  /** What the container calls it. */
  plain: string;
  type: "function" | "custom";
  namespace: string | undefined;
  name: string;
}

/** What a tool is known by where there is no other of the name. */
export const joined = (namespace: string, name: string) =>
  namespace === "" || namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;

export class ToolNames {
  readonly #byPlain = new Map<string, CallerTool>();
  readonly #byOwn = new Map<string, CallerTool>();
  /** By a name: how many of that name have been told from it. */
  readonly #more = new Map<string, number>();

  constructor(tools: Json | undefined) {
    const all = listOf(tools).map(fieldsOf);
    // Those outside namespaces keep their names, wherever they stand.
    for (const tool of all) this.#add(tool, undefined);
    for (const { type, name, tools: within } of all) {
      if (type !== "namespace") continue;
      for (const tool of listOf(within)) this.#add(fieldsOf(tool), textOf(name));
    }
  }

  /** The tool that a container calls so. */
  called(plain: string): CallerTool | undefined {
    return this.#byPlain.get(plain);
  }

  /** What the container calls a tool of the caller's, also one that is not there any more. */
  plain(namespace: Json | undefined, name: Json | undefined): string {
    const [within, own] = [textOf(namespace), textOf(name)];
    return this.#byOwn.get(keyOf(within, own))?.plain ?? joined(within, own);
  }

  #add({ type, name: given }: Fields, namespace: string | undefined): void {
    if (type !== "function" && type !== "custom") return;
    const name = textOf(given);
    const key = keyOf(namespace ?? "", name);
    if (this.#byOwn.has(key)) return;
    const plain = namespace === undefined ? name : this.#unused(joined(namespace, name));
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

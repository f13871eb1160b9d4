import { resolvePointer } from "./json-pointer.ts";
import type { Keywords, SchemaPart } from "./json-schema-shape.ts";

/** The base of references in a schema that has no `$id`. */
const NO_ID = new URL("https://schema.invalid/");

export class SchemaParts {
  readonly #parts = new Set<unknown>();
  readonly #byUrl = new Map<string, SchemaPart>();
  readonly #references: { part: Keywords; ref: string; base: URL }[] = [];
  readonly #targets = new Map<Keywords, SchemaPart>();
  /** Whether keywords must record which names and items they accepted. */
  hasUnevaluated = false;

  readonly root: SchemaPart;

  constructor(root: SchemaPart) {
    this.root = root;
    this.#byUrl.set(NO_ID.href, root);
    this.#add(root, NO_ID);
    for (const { part, ref, base } of this.#references) {
      const target = this.#find(new URL(ref, base));
      if (target === undefined) throw new Error(`$ref '${ref}' does not exist in this schema`);
      this.#targets.set(part, target);
    }
  }

  has(value: unknown): value is Keywords {
    return this.#parts.has(value);
  }

  targetOf(part: Keywords): SchemaPart | undefined {
    return this.#targets.get(part);
  }

  #add(part: SchemaPart, parent: URL): void {
    if (typeof part === "boolean") return;
    this.#parts.add(part);
    const { $id, $anchor, $ref, unevaluatedItems, unevaluatedProperties } = part;
    const base = $id === undefined ? parent : new URL($id, parent);
    if ($id !== undefined) this.#byUrl.set(base.href, part);
    if ($anchor !== undefined) this.#byUrl.set(new URL(`#${$anchor}`, base).href, part);
    if ($ref !== undefined) this.#references.push({ part, ref: $ref, base });
    this.hasUnevaluated ||= (unevaluatedItems ?? unevaluatedProperties) !== undefined;
    for (const below of partsBelow(part)) this.#add(below, base);
  }

  #find(url: URL): SchemaPart | undefined {
    const exact = this.#byUrl.get(url.href);
    if (exact !== undefined) return exact;
    const { hash } = url;
    url.hash = "";
    const found = resolvePointer(this.#byUrl.get(url.href), hash || "#");
    return typeof found === "boolean" || this.has(found) ? found : undefined;
  }
}

function partsBelow(part: Keywords): SchemaPart[] {
  const { items } = part;
  const single = [
    part.not,
    part.if,
    part.then,
    part.else,
    part.additionalProperties,
    part.unevaluatedProperties,
    part.propertyNames,
    part.additionalItems,
    part.unevaluatedItems,
    part.contains,
    Array.isArray(items) ? undefined : items,
  ];
  const several = [
    part.$defs,
    part.definitions,
    part.components?.schemas,
    part.allOf,
    part.anyOf,
    part.oneOf,
    part.properties,
    part.patternProperties,
    part.dependentSchemas,
    part.prefixItems,
    Array.isArray(items) ? items : undefined,
  ];
  const all = [...single, ...several.flatMap((parts) => Object.values(parts ?? {}))];
  return all.filter((below) => below !== undefined);
}

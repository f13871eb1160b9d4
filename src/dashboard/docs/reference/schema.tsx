/** A schema in readable form: type, limits and fields, nested ones collapsed. */
import type { FC } from "hono/jsx";
import { type InlineSchema, isInline, refName, type Schema } from "../../../openapi/types.ts";
import { SCHEMAS } from "../contents.ts";

export const anchorOf = (name: string) => `schema-${name}`;

/** `string`, `array of Model`, `Owner or null`; named schemas are links. */
export function Type({ schema }: { schema: Schema }) {
  const name = refName(schema);
  if (name !== undefined) return <a href={`${SCHEMAS}#${anchorOf(name)}`}>{name}</a>;
  if (!isInline(schema)) return null;
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf?.slice(0, 1);
  if (choices) return <Joined parts={choices} />;
  if (schema.enum) return <Values values={schema.enum} />;
  if (schema.const !== undefined) return <Values values={[schema.const]} />;
  const types = [schema.type ?? "any"].flat();
  if (types.length > 3) return "any";
  if (schema.items) {
    return (
      <>
        array of <Type schema={schema.items} />
      </>
    );
  }
  return types.join(" or ") + (schema.format ? ` (${schema.format})` : "");
}

const Joined = ({ parts }: { parts: Schema[] }) => (
  <>
    {parts.map((part, n) => (
      <>
        {n > 0 && " or "}
        <Type schema={part} />
      </>
    ))}
  </>
);

const Values = ({ values }: { values: unknown[] }) => (
  <>
    {values.map((value, n) => (
      <>
        {n > 0 && " · "}
        <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>
      </>
    ))}
  </>
);

/** `5 to 50`, `at most 255 characters`, and the default. */
export function limitsOf(schema: Schema): string[] {
  if (!isInline(schema)) return [];
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const own = [
    range(minimum, maximum),
    range(minLength, maxLength, " characters"),
    range(minItems, maxItems, " items"),
    schema.exclusiveMinimum !== undefined ? `more than ${schema.exclusiveMinimum}` : "",
    schema.exclusiveMaximum !== undefined ? `less than ${schema.exclusiveMaximum}` : "",
    schema.multipleOf !== undefined ? `a multiple of ${schema.multipleOf}` : "",
    pattern ? `matches \`${pattern}\`` : "",
    schema.default !== undefined ? `default \`${JSON.stringify(schema.default)}\`` : "",
  ];
  const parts = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap(limitsOf);
  return own.filter(Boolean).concat(parts);
}

function range(from: number | undefined, to: number | undefined, units = ""): string {
  const [low, high] = [from, to].map((n) => n?.toLocaleString("en"));
  const unit = (to ?? from) === 1 ? units.replace(/s$/, "") : units;
  if (low !== undefined && high !== undefined) return `${low} to ${high}${unit}`;
  if (high !== undefined) return `at most ${high}${unit}`;
  return low !== undefined ? `at least ${low}${unit}` : "";
}

interface Props<Described extends Schema> {
  schema: Described;
  /** Renders descriptions. Those written by users must not contain links. */
  Text?: FC<{ text: string }>;
}

export function Fields({ schema, Text }: Props<InlineSchema>) {
  if (!schema.properties) return null;
  return (
    <ul class="ruled fields">
      {Object.entries(schema.properties).map(([name, field]) => (
        <li>
          <code class="name">{name}</code>{" "}
          <span class="quiet small">
            <Type schema={field} />
          </span>
          {!schema.required?.includes(name) && <span class="quiet small optional"> optional</span>}
          <About schema={field} Text={Text} />
          <Nested schema={field} Text={Text} />
        </li>
      ))}
    </ul>
  );
}

/** Inline code and links. */
export function Inline({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).map((part) => {
        if (part.startsWith("`") && part.length > 1) return <code>{part.slice(1, -1)}</code>;
        const [, label, href] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
        return href ? <a href={href}>{label}</a> : part;
      })}
    </>
  );
}

export function About({ schema, Text = Inline }: Props<Schema>) {
  const limits = limitsOf(schema);
  const text = [schema.description, limits.join(", ")].filter(Boolean).join(" — ");
  return text ? (
    <p dir="auto">
      <Text text={text} />
    </p>
  ) : null;
}

/** The fields of an inline object; named schemas have their own section. */
function Nested({ schema, Text }: Props<Schema>) {
  if (!isInline(schema)) return null;
  const inner = schema.items ?? schema;
  if (!isInline(inner) || !inner.properties) return null;
  return (
    <details>
      <summary>Fields</summary>
      <Fields schema={inner} Text={Text} />
    </details>
  );
}

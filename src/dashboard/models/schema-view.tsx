/** The schema of a model's input or output, readable and as JSON. */
import type { Json } from "../../protocol/common.ts";
import { About, Fields, Type } from "../docs/reference/schema.tsx";
import { Copy } from "../ui/parts.tsx";
import { displaySchema } from "./display-schema.ts";

export function SchemaView({ title, schema }: { title: string; schema: Json }) {
  const { schema: display, complete } = displaySchema(schema);
  return (
    <section class="schema">
      <h3>{title}</h3>
      <p class="type">
        <Type schema={display} />
      </p>
      <About schema={display} Text={InlineCode} />
      <Fields schema={display} Text={InlineCode} />
      {!complete && (
        <p class="hint">This schema is too large to show in full. See its JSON below.</p>
      )}
      <details>
        <summary>{title} as JSON</summary>
        <Copy lines text={JSON.stringify(schema, null, 2)} />
      </details>
    </section>
  );
}

/** Descriptions written by users: inline code, but no links. */
const InlineCode = ({ text }: { text: string }) => (
  <>{text.split(/`([^`]+)`/).map((part, n) => (n % 2 === 1 ? <code>{part}</code> : part))}</>
);

/** Renders a value of an input or output by its kind. */
import { MAX_TEXT_CHARS } from "../../domain/predictions/display-limits.ts";
import { unmarked } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { type Column, Table } from "../ui/table.tsx";
import { cosineDistance, countText, namesOf, norm, type Vector } from "./embeddings.ts";
import { JsonTree } from "./json-tree.tsx";
import { isUrlKind, type Message, messagesIn, type Output, outputOf } from "./output-kind.ts";
import { UrlOutput } from "./url-output.tsx";

interface Source {
  /** Host of the page: nothing is loaded from others. */
  host: string;
  all: string | undefined;
}

interface Props extends Source {
  output: Output;
  input?: Json | undefined;
  grows?: boolean;
}

/** The markup is the same as in client/parts/output-view.ts. */
export function OutputValue({ output, input, host, all, grows = false }: Props) {
  if (isUrlKind(output)) return <UrlOutput output={output} />;
  switch (output.kind) {
    case "text":
      return <Text text={output.text} isWhole={grows} />;
    case "list":
      return (
        <ul class="output-item list">
          {output.items.map((item) => (
            <li>
              <OutputValue output={outputOf(item, host)} host={host} all={all} />
            </li>
          ))}
        </ul>
      );
    case "embeddings":
      return (
        <div class="output-item">
          <Embeddings vectors={output.vectors} input={input} />
          <details>
            <summary>All values</summary>
            <JsonTree value={output.value} host={host} all={all} />
          </details>
        </div>
      );
    case "json":
      return (
        <div class="output-item">
          <JsonTree value={output.value} host={host} all={all} />
        </div>
      );
  }
}

/** Text beyond MAX_TEXT_CHARS is folded, because a browser lays out long texts slowly. */
function Text({ text, isWhole }: { text: string; isWhole: boolean }) {
  const shown = isWhole ? text : text.slice(0, MAX_TEXT_CHARS).replace(HALF_PAIR, "");
  const rest = text.slice(shown.length);
  return (
    <>
      <div class="output-item text">{shown}</div>
      {rest !== "" && (
        <details>
          <summary>{`Show the next ${Math.ceil(rest.length / 1024)} KB`}</summary>
          <div class="output-item text">{rest}</div>
        </details>
      )}
    </>
  );
}

const HALF_PAIR = /[\uD800-\uDBFF]$/;

/** Shows the texts of an output as Markdown, and back. Client code reveals it. */
export const MarkdownButton = () => (
  <button type="button" class="quiet markdown-button" aria-pressed="false" data-markdown hidden>
    Markdown
  </button>
);

const MAX_ROWS = 100;
/** Rows and columns of the distances: more would be no table that anybody reads. */
const MAX_COMPARED = 12;
const FIRST = 4;

interface EmbeddingsProps {
  vectors: Vector[];
  /** The input that the vectors were made of; undefined where it is not known. */
  input: Json | undefined;
}

/** Client code has the server render them again when the prediction has ended. */
export function Embeddings({ vectors, input }: EmbeddingsProps) {
  const names = namesOf(vectors, input);
  return (
    <>
      <div class="scroll" tabindex={0}>
        <Table
          class="embeddings"
          columns={[
            "Vector",
            { name: "Dimension", is: "number" },
            { name: "Length", is: "number" },
            "First values",
          ]}
          caption={<caption>{countText(vectors)}</caption>}
        >
          {vectors.slice(0, MAX_ROWS).map((vector, n) => (
            <tr>
              <RowName n={n} names={names} />
              <td class="number">{String(vector.length)}</td>
              <td class="number">{short(norm(vector))}</td>
              <td class="mono">
                {vector.slice(0, FIRST).map(short).join(", ")}
                {vector.length > FIRST && ", …"}
              </td>
            </tr>
          ))}
        </Table>
      </div>
      {vectors.length > MAX_ROWS && <p class="hint">{`${vectors.length - MAX_ROWS} more`}</p>}
      {vectors.length > 1 && <Distances vectors={vectors.slice(0, MAX_COMPARED)} names={names} />}
      {vectors.length > MAX_COMPARED && (
        <p class="hint">{`Between the first ${MAX_COMPARED} of ${vectors.length}.`}</p>
      )}
    </>
  );
}

type Names = string[] | undefined;

const RowName = ({ n, names }: { n: number; names: Names }) => (
  <th scope="row">
    {String(n)}
    {names?.[n] && (
      <>
        {" "}
        <bdi class="vector-text">{names[n]}</bdi>
      </>
    )}
  </th>
);

const Distances = ({ vectors, names }: { vectors: Vector[]; names: Names }) => (
  <div class="scroll" tabindex={0}>
    <Table
      class="distances"
      caption={<caption>Cosine distance: 0 is the same direction, 1 is unrelated</caption>}
      columns={["", ...vectors.map((_, n): Column => ({ name: String(n), is: "number" }))]}
    >
      {vectors.map((a, row) => (
        <tr>
          <RowName n={row} names={names} />
          {vectors.map((b, column) => (
            <Distance value={row === column ? 0 : cosineDistance(a, b)} />
          ))}
        </tr>
      ))}
    </Table>
  </div>
);

/** The nearer, the darker; the number says the same. */
const Distance = ({ value }: { value: number | undefined }) => (
  <td class={value === undefined ? "number" : `number near-${nearness(value)}`}>
    {value === undefined ? "–" : value.toFixed(3)}
  </td>
);

/** 4 for 0 to 0.25, down to 0 from 1. */
const nearness = (distance: number) => Math.max(0, 4 - Math.floor(distance * 4));

const short = (value: number) => String(Number(value.toPrecision(4)));

interface InputProps extends Source {
  input: Json;
}

export const InputFields = ({ input, ...source }: InputProps) => (
  <dl class="input">
    {Object.entries(input ?? {}).map(([name, value]) => {
      const scrolls = !isUrlKind(outputOf(value, source.host)) && isLong(value);
      return (
        <>
          <dt>{unmarked(name)}</dt>
          <dd {...(scrolls && { class: "long", tabindex: 0 })}>
            <InputValue value={value} {...source} />
          </dd>
        </>
      );
    })}
  </dl>
);

/** Some 13 lines are seen at once, and the rest scrolls: it must be reachable with the keyboard. */
function isLong(value: Json): boolean {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 800 || text.split("\n").length > 12;
}

/** Renders a field of an input: messages as turns, anything else by its kind. */
function InputValue({ value, ...source }: Source & { value: Json }) {
  const messages = messagesIn(value);
  if (!messages) return <OutputValue output={outputOf(value, source.host)} {...source} />;
  return (
    <ol class="stack">
      {messages.map((message) => (
        <Turn message={message} />
      ))}
    </ol>
  );
}

const Turn = ({ message: { role, text, others } }: { message: Message }) => (
  <li>
    <strong class="small">{role}</strong>
    {text !== "" && <div class="output-item text">{text}</div>}
    {others.length > 0 && <p class="hint">{others.join(", ")}</p>}
  </li>
);

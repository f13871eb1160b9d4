/** Embeddings as a table: how long they are, how they begin, and how far they are from each other. */
import type { Json } from "../../protocol/common.ts";
import { type Column, Table } from "../ui/table.tsx";
import { cosineDistance, countText, namesOf, norm, type Vector } from "./embeddings.ts";

/** Rows of the table. */
const MAX_ROWS = 100;
/** Rows and columns of the distances: more would be no table that anybody reads. */
const MAX_COMPARED = 12;
/** Numbers of each that are shown. */
const FIRST = 4;

interface Props {
  vectors: Vector[];
  /** The input that the vectors were made of; undefined where it is not known. */
  input: Json | undefined;
}

/** Client code has the server render them again when the prediction has ended. */
export function Embeddings({ vectors, input }: Props) {
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
              <td class="vector">
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

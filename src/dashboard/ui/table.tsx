/** A table: its columns, and its rows as children. */
import type { Child, PropsWithChildren } from "hono/jsx";

/** A column of numbers is aligned to the right. The name of a hidden column is read out only; "" is a cell without a name. */
export type Column = Child | { name: Child; is: "number" | "hidden" };

interface Props {
  columns: Column[];
  /** A `caption` element. */
  caption?: Child;
  class?: string;
  [attribute: `aria-${string}` | `data-${string}`]: string | undefined;
}

export const Table = ({ columns, caption, children, ...attributes }: PropsWithChildren<Props>) => (
  <table {...attributes}>
    {caption}
    <thead>
      <tr>{columns.map(headOf)}</tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
);

const isMarked = (column: Column): column is Extract<Column, { is: string }> =>
  typeof column === "object" && column !== null && "is" in column;

function headOf(column: Column) {
  if (column === "") return <td />;
  if (!isMarked(column)) return <th scope="col">{column}</th>;
  const { name, is } = column;
  return (
    <th scope="col" class={is === "number" ? "number" : undefined}>
      {is === "number" ? name : <span class="visually-hidden">{name}</span>}
    </th>
  );
}

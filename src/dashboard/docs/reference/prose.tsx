/** The subset of Markdown that our own texts use: headings, paragraphs, tables, code and links. */
import { Table } from "../../ui/table.tsx";

interface Text {
  text: string;
}

export const Prose = ({ text }: Text) => (
  <>
    {text.split(/\n{2,}/).map((block) => (
      <Block text={block} />
    ))}
  </>
);

function Block({ text }: Text) {
  if (text.startsWith("## ")) {
    const title = text.slice(3);
    return <h2 id={slugOf(title)}>{title}</h2>;
  }
  if (text.startsWith("| ")) return <Rows lines={text.split("\n")} />;
  if (text.startsWith("```")) {
    return (
      <pre>
        <code>{text.split("\n").slice(1, -1).join("\n")}</code>
      </pre>
    );
  }
  return (
    <p>
      <Inline text={text} />
    </p>
  );
}

function Rows({ lines: [head = "", , ...rows] }: { lines: string[] }) {
  const cells = (line: string) => line.slice(2, -2).split(" | ");
  return (
    <Table columns={cells(head)}>
      {rows.map((row) => (
        <tr>
          {cells(row).map((cell) => (
            <td>
              <Inline text={cell} />
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

/** Inline code and links. */
export function Inline({ text }: Text) {
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

export const slugOf = (title: string) => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

/**
 * A JSON value as a tree: one level and small parts of it rendered, the rest as JSON text that client
 * code expands.
 */
import type { Child } from "hono/jsx";
import { MAX_FOLDED_CHARS } from "../../domain/predictions/display-limits.ts";
import { exactText, unmarked } from "../../lib/exact-json.ts";
import { readableJson } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";
import { type Branch, isBranch, leafType, paginated, sizeText, writtenOut } from "./branch.ts";
import { isUrlKind, outputOf } from "./output-kind.ts";
import { UrlOutput } from "./url-output.tsx";

interface Source {
  host: string;
  all: string | undefined;
}

/** The markup is the same as in client/parts/json-tree.ts. */
export const JsonTree = ({ value, ...source }: Source & { value: Json }) =>
  isBranch(value) ? (
    <details class="json" open>
      <summary>{sizeText(value)}</summary>
      <Entries value={value} written={writtenOut(value)} {...source} />
    </details>
  ) : (
    <code>{exactText(value)}</code>
  );

function Entries({ value, written, host, all }: Source & { value: Branch; written: Set<Branch> }) {
  const { first, rest } = paginated(Object.entries(value));
  return (
    <ul>
      {first.map(([key, one]) => (
        <li>
          {isBranch(one) && written.has(one) ? (
            <details>
              <summary>
                <Key name={key} />
                {sizeText(one)}
              </summary>
              <Entries value={one} written={written} host={host} all={all} />
            </details>
          ) : isBranch(one) ? (
            <CollapsedNode value={one} all={all}>
              <Key name={key} />
              {sizeText(one)}
            </CollapsedNode>
          ) : (
            <>
              <Key name={key} />
              <Leaf value={one} host={host} />
            </>
          )}
        </li>
      ))}
      {rest.length > 0 && (
        <li>
          <CollapsedNode
            value={Array.isArray(value) ? value.slice(first.length) : Object.fromEntries(rest)}
            from={first.length}
            all={all}
          >
            {`${rest.length} more`}
          </CollapsedNode>
        </li>
      )}
    </ul>
  );
}

/** A string may be the URL of a file. */
function Leaf({ value, host }: { value: Json; host: string }) {
  const output = outputOf(value, host);
  if (isUrlKind(output)) return <UrlOutput output={output} />;
  return <span class={leafType(value)}>{exactText(value)}</span>;
}

const Key = ({ name }: { name: string }) => <span class="key">{`${unmarked(name)}: `}</span>;

/** @param from index of the first item, when it continues a list */
function CollapsedNode({
  value,
  from = 0,
  all,
  children,
}: {
  value: Branch;
  from?: number;
  all: string | undefined;
  children: Child;
}) {
  const text = collapsedText(value);
  return (
    <details>
      <summary>{children}</summary>
      {text === undefined ? (
        <p class="hint">
          {"Too large to expand here. "}
          {all !== undefined && <a href={all}>View full JSON</a>}
        </p>
      ) : (
        <pre tabindex={0} data-from={from}>
          {text}
        </pre>
      )}
    </details>
  );
}

/** undefined when it is too large. */
function collapsedText(value: Branch): string | undefined {
  return [readableJson(value), exactText(value)].find(({ length }) => length <= MAX_FOLDED_CHARS);
}

/** A value as a tree: its first level, and below that texts, of which client code makes branches. */
import type { Child } from "hono/jsx";
import { isDeeper, MAX_LEVELS, readableJson } from "../../domain/json-text.ts";
import { MAX_FOLDED_CHARS } from "../../domain/page-bounds.ts";
import type { Json } from "../../protocol/common.ts";
import { type Branch, isBranch, paged, sizeText } from "./branch.ts";

/** As client/parts/json-tree.ts has it. @param all where all of it is, as JSON */
export const JsonTree = ({ value, all }: { value: Json; all: string }) =>
  isBranch(value) ? (
    <details class="json" open>
      <summary>{sizeText(value)}</summary>
      <Entries value={value} all={all} />
    </details>
  ) : (
    <code>{JSON.stringify(value)}</code>
  );

function Entries({ value, all }: { value: Branch; all: string }) {
  const { first, rest } = paged(Object.entries(value));
  return (
    <ul>
      {first.map(([key, one]) => (
        <li>
          {isBranch(one) ? (
            <Folded value={one} all={all}>
              <Key name={key} />
              {sizeText(one)}
            </Folded>
          ) : (
            <>
              <Key name={key} />
              <span class={one === null ? "null" : typeof one}>{JSON.stringify(one)}</span>
            </>
          )}
        </li>
      ))}
      {rest.length > 0 && (
        <li>
          <Folded
            value={Array.isArray(value) ? value.slice(first.length) : Object.fromEntries(rest)}
            from={first.length}
            all={all}
          >
            {`${rest.length} more`}
          </Folded>
        </li>
      )}
    </ul>
  );
}

const Key = ({ name }: { name: string }) => <span class="key">{`${name}: `}</span>;

/** @param from the place of the first item, of a list whose first ones are elsewhere */
function Folded({
  value,
  from = 0,
  all,
  children,
}: {
  value: Branch;
  from?: number;
  all: string;
  children: Child;
}) {
  const text = foldedText(value);
  return (
    <details>
      <summary>{children}</summary>
      {text === undefined ? (
        <p class="hint">
          {"It is too much to be unfolded here. "}
          <a href={all}>All of it, as JSON</a>
        </p>
      ) : (
        <pre tabindex={0} data-from={from}>
          {text}
        </pre>
      )}
    </details>
  );
}

/** undefined for what is too large, or too deep. */
function foldedText(value: Branch): string | undefined {
  if (isDeeper(value, MAX_LEVELS)) return undefined;
  return [readableJson(value), JSON.stringify(value)].find(
    ({ length }) => length <= MAX_FOLDED_CHARS,
  );
}

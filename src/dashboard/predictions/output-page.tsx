/** The output as a tree, of which any part has an address: however large it is, a page has a part of it. */
import type { Json } from "../../protocol/common.ts";
import { JsonTree } from "../prediction-view/json-tree.tsx";
import { ShowMore } from "../prediction-view/show-more.tsx";
import { Above, ALL_PREDICTIONS, linkToPrediction } from "../ui/parts.tsx";

/** Characters of a text that is a part: all of it is in the file. */
const MAX_TEXT_CHARS = 256 * 1024;

export interface OutputPart {
  /** Which one it is (JSON Pointer). */
  at: string;
  value: Json;
  /** How many of its entries are left out. */
  from: number;
}

interface Props {
  id: string;
  /** Undefined: the output is too large to be shown in parts. */
  part: OutputPart | undefined;
  host: string;
}

export function OutputPage({ id, part, host }: Props) {
  const address = `/predictions/${id}/output`;
  return (
    <>
      <Above places={[ALL_PREDICTIONS, linkToPrediction(id)]} />
      <h1>Output</h1>
      <Downloads id={id} />
      {part ? (
        <Part part={part} address={address} host={host} />
      ) : (
        <p>It is larger than a page can show: more than a million characters. Download it.</p>
      )}
    </>
  );
}

interface TextProps {
  id: string;
  text: string;
  /** Whether it is a list, with a line for each entry. */
  lines: boolean;
  /** Where it goes on, if it does. */
  next: string | undefined;
}

/** The text from somewhere in its middle on. */
export const OutputTextPage = ({ id, text, lines, next }: TextProps) => (
  <>
    <Above places={[ALL_PREDICTIONS, linkToPrediction(id)]} />
    <h1>Output, continued</h1>
    <Downloads id={id} lines={lines} />
    <div class="prediction-output" data-long-text>
      <div data-output>
        <div class="output-item text">{text}</div>
      </div>
      <p class="visually-hidden" role="status" data-announce />
      {next === undefined ? <p class="hint">The output ends here.</p> : <ShowMore address={next} />}
    </div>
  </>
);

const Downloads = ({ id, lines = false }: { id: string; lines?: boolean }) => (
  <p class="downloads">
    {"Download "}
    <a href={`/predictions/${id}/output.txt${lines ? "?lines=true" : ""}`} download={`${id}.txt`}>
      Text
    </a>
    <a href={`/predictions/${id}/output.json`} download={`${id}.json`}>
      JSON
    </a>
  </p>
);

function Part({ part, address, host }: { part: OutputPart; address: string; host: string }) {
  const { at, value, from } = part;
  const names = at.split("/").slice(1);
  return (
    <>
      {names.length > 0 && (
        <p class="output-path">
          <a href={address}>Output</a>
          {names.map((name, n) => (
            <>
              {" / "}
              <a
                href={`${address}?${new URLSearchParams({ at: `/${names.slice(0, n + 1).join("/")}` })}`}
              >
                <bdi>{name.replaceAll("~1", "/").replaceAll("~0", "~")}</bdi>
              </a>
            </>
          ))}
        </p>
      )}
      {from > 0 && <p class="hint">{`From entry ${from} on.`}</p>}
      {typeof value === "string" ? (
        <div class="output-item text">{value.slice(0, MAX_TEXT_CHARS)}</div>
      ) : (
        <JsonTree value={value} host={host} all={address} at={at} from={from} />
      )}
    </>
  );
}

/** The example request in the language that is chosen, which the stylesheet sees to. */
import { Copy } from "../../ui/parts.tsx";
import { curlOf } from "./curl.ts";
import { javascriptOf } from "./javascript.ts";
import { pythonOf } from "./python.ts";
import type { SampleRequest } from "./request.ts";

const LANGUAGES = [
  ["curl", "curl", curlOf],
  ["python", "Python", pythonOf],
  ["js", "JavaScript", javascriptOf],
] as const;

/** Client code (client/docs.ts) chooses the same language everywhere, and remembers it. */
export const Samples = ({
  name,
  request,
}: {
  name: string | undefined;
  request: SampleRequest;
}) => (
  <div class="code-samples">
    <fieldset class="segments" aria-label="Language" data-languages>
      {LANGUAGES.map(([language, label]) => (
        <label>
          <input
            type="radio"
            name={`language-${name}`}
            value={language}
            checked={language === "curl"}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
    {LANGUAGES.map(([language, , sampleOf]) => (
      <div data-language={language}>
        <Copy lines text={sampleOf(request)} />
      </div>
    ))}
  </div>
);

/**
 * The call as code samples, in the language that is chosen, which the stylesheet sees to; client code
 * keeps them in step with the input.
 */
import { Copy } from "../../ui/parts.tsx";
import { type CodeSample, LANGUAGES } from "./samples.ts";

export const Code = ({ samples }: { samples: CodeSample[] }) => (
  <div class="code-samples">
    <fieldset class="segments" data-choice="language">
      <legend class="visually-hidden">Language</legend>
      {Object.entries(LANGUAGES).map(([language, name]) => (
        <label>
          <input
            type="radio"
            name="code-language"
            value={language}
            checked={language === "python"}
          />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
    <p class="hint">
      These examples read an <a href="/tokens">access token</a> from the environment variable{" "}
      <code>AUSPEX_TOKEN</code>.
    </p>
    {samples.map(({ id, title, language, code }) => (
      <section data-call={id} data-language={language}>
        <h3>{title}</h3>
        <Copy lines text={code} language={language} />
      </section>
    ))}
  </div>
);

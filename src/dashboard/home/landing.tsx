/** The page of visitors: what Auspex does, three lines of code, and a run that was recorded. */
import { Copy } from "../ui/parts.tsx";

const sampleOf = (origin: string) => `import Replicate from "replicate";
const replicate = new Replicate({ baseUrl: "${origin}/replicate/v1", auth: process.env.AUSPEX_TOKEN });
console.log(await replicate.run("demo/text-generation", { input: { prompt: "Alice was" } }));`;

export const Landing = ({ isSetUp, origin }: { isSetUp: boolean; origin: string }) => (
  <div class="landing">
    <div class="hero">
      <h1>Models on your own GPUs</h1>
      <p>Publish a model once, call it over HTTPS from anywhere, and stream its output.</p>
      <p class="flow actions">
        <a class="button primary" href="/sign-in">
          Log in
        </a>
        <a class="button quiet" href="/models">
          Browse models
        </a>
        <a class="button quiet" href="/docs">
          Read the docs
        </a>
      </p>
    </div>
    {!isSetUp && (
      <p class="hint">
        Deployed this yourself? <a href="/set-up">Set it up</a> with your operator token.
      </p>
    )}
    <section aria-labelledby="code-title">
      <h2 id="code-title">Three lines of code</h2>
      <Copy lines text={sampleOf(origin)} />
      <p class="hint">
        Works with the official <a href="/docs/replicate">Replicate</a>,{" "}
        <a href="/docs/openai">OpenAI</a> and <a href="/docs/anthropic">Anthropic</a> clients.
      </p>
    </section>
    <Recording />
    <section aria-labelledby="why-title">
      <h2 id="why-title">Why Auspex</h2>
      <ul class="cards reasons">
        {REASONS.map(([title, text]) => (
          <li>
            <h3>{title}</h3>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </section>
  </div>
);

const REASONS = [
  [
    "Your own GPUs",
    "Models run in containers on your machines. A runner only makes outgoing connections, so you open no inbound port.",
  ],
  [
    "Your data stays with you",
    "Inputs and outputs are stored in your own Cloudflare account. Containers can be cut off from the internet.",
  ],
  [
    "Streams that resume",
    "Reconnect after a dropped connection and continue at the next event. Nothing is lost or repeated.",
  ],
  [
    "See why it is queued",
    "Every queued prediction shows the reason: a cold start, busy runners or an offline runner.",
  ],
];

/** The output of a run in the parts that were streamed. style/parts.css shows one after the other. */
const Recording = () => (
  <section aria-labelledby="recording-title">
    <h2 id="recording-title">A recorded run</h2>
    <figure class="panel flush measure">
      <p class="quiet small">Prompt: {PROMPT}</p>
      <p class="recorded" lang="en">
        {PARTS.map((part) => (
          <span>{part}</span>
        ))}
      </p>
      <figcaption class="hint">
        <span class="status succeeded">succeeded</span> {TIMES}
      </figcaption>
    </figure>
  </section>
);

/** Recorded from the example model text-generation, with seed 7. */
const PROMPT = "Alice was";
const PARTS = [
  " beginning to find her way out",
  " of the bottle was not a",
  " bit, and the words “",
  "DRINK much from a bottle marked",
  " “poison,” thought.",
  " “You should say what you",
  " mean that you think",
];
const TIMES = "40 tokens in 0.9 s";

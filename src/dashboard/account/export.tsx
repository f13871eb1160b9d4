/** The export of an account, as a download. */

/** @param title of its section, and for whom it stands there */
export const ExportSection = ({ title, leaving = false }: { title: string; leaving?: boolean }) => (
  <section aria-labelledby="export-title">
    <h2 id="export-title">{title}</h2>
    <p>
      One file has your profile, tokens (without their secrets), models with their versions, webhook
      endpoints, uploads, usage, and your last 2,000 predictions or so with input and output while
      these are kept. It is JSON Lines: a line for each thing.{" "}
      <a href="/docs/calling#export-your-account">What is included</a>
    </p>
    <ul>
      <li>
        If you have more predictions, the last line has the URL of the next file. Without a last
        line of the type <code>end</code>, the download was cut short.
      </li>
      <li>
        Files are in it as URLs, which are valid for a day
        {leaving && ", and end with the account: download them before you delete it"}.
      </li>
      <li>Container images are not in it. {leaving ? "Pull" : "You can pull"} them with Docker.</li>
    </ul>
    <p class="flow actions">
      <a class="button quiet" href="/account/export">
        Download your data
      </a>
    </p>
  </section>
);

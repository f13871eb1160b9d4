/** Where a webhook goes, as lists show it: it may have 2,048 characters, of which the first tell it apart. */
export const WebhookUrl = ({ url }: { url: string }) => (
  <bdi class="webhook-url" title={url}>
    {url}
  </bdi>
);

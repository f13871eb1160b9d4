ALTER TABLE `upload_parts` ADD `utf8_edges` text;--> statement-breakpoint
ALTER TABLE `uploads` ADD `is_utf8` integer DEFAULT false NOT NULL;
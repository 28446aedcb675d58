package events

type (
	Event         any
	EventListener interface{ HandleEvent(Event) }
)

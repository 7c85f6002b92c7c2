## Scripts: messages and dialogs

script-close = Close
script-dismiss = Dismiss
script-copied = Copied
script-copy-manually = Press Ctrl+C
script-request-failed-reload = The request failed (status { $status }). Try again, or reload the page.
script-server-unreachable = The server cannot be reached. Check your connection and try again.

## Scripts: keyboard shortcuts

script-shortcuts-title = Keyboard shortcuts
script-shortcut-search = Search
script-shortcut-new = New
script-shortcut-edit = Edit
script-shortcut-next-row = Next row
script-shortcut-previous-row = Previous row
script-shortcut-open-row = Open row
script-shortcut-dashboard = Dashboard
script-shortcut-folders = Folders
script-shortcut-assignments = Assignments
script-shortcut-expenses = Expenses
script-shortcut-budgets = Budgets
script-shortcut-map = Map
script-shortcut-settings = Settings
script-shortcut-help = Show shortcuts
script-key-enter = Enter
script-key-escape = Esc

## Scripts: times

script-time-now = just now
script-time-minutes-ago = { $minutes } min ago
script-time-in-minutes = in { $minutes } min
script-time-hours-ago = { $hours } h ago
script-time-in-hours = in { $hours } h
script-time-yesterday = yesterday
script-time-tomorrow = tomorrow
script-time-days-ago = { $days ->
    [one] { $days } day ago
   *[other] { $days } days ago
}
script-time-in-days = { $days ->
    [one] in { $days } day
   *[other] in { $days } days
}
script-date-short = { $day } { $month }
script-date-with-year = { $day } { $month } { $year }
script-month = { $month ->
    [1] Jan
    [2] Feb
    [3] Mar
    [4] Apr
    [5] May
    [6] Jun
    [7] Jul
    [8] Aug
    [9] Sep
    [10] Oct
    [11] Nov
   *[12] Dec
}

## Scripts: map

script-map-title = Map
script-map-show = Show map
script-map-load-failed = The map could not be loaded. Reload the page to try again.
script-map-needs-webgl = The map needs WebGL, which this browser does not support or has turned off. Everything else works without it.
script-map-request-failed = The request failed (status { $status }).
script-map-session-expired = Your session has expired. Log in again.
script-map-unexpected-response = The server sent an unexpected response (status { $status }).
script-map-coordinates = Coordinates
script-map-toggle-attribution = Toggle attribution
script-map-find-location = Show my location
script-map-location-unavailable = Location not available
script-map-zoom-in = Zoom in
script-map-zoom-out = Zoom out
script-map-scroll-hint = Use Ctrl + scroll to zoom the map
script-map-scroll-hint-mac = Use ⌘ + scroll to zoom the map
script-map-scroll-hint-touch = Use two fingers to move the map

## Scripts: layers of the map

script-map-layer = Layer
script-map-layers = Layers
script-map-layers-empty = No layers yet. Draw a shape, or import a file.
script-map-layer-new-submissions = Submissions (new layer)
script-map-layer-opacity = Opacity of { $name }
script-map-layer-zoom-to = Zoom to { $name }

## Scripts: selected feature or folder

script-map-size = Size
script-map-updated = Updated
script-map-folder-open = Open folder
script-map-edit = Edit
script-map-delete = Delete
script-map-shape-delete = Delete shape
script-map-shape-deleted = Shape deleted.
script-map-shape-not-editable = Shapes with several parts, holes or elevations cannot be edited here. Edit the shape in a GIS and upload it again.
# The position of the shown feature among those at the same place.
script-map-stepper-position = { $index } of { $count } at this location
script-map-stepper-next = Next
script-map-shape-count = { $count ->
    [one] { $count } shape
   *[other] { $count } shapes
}

## Scripts: drawing

script-map-draw = Draw
script-map-draw-toolbar = Drawing tools
script-map-draw-point = Point
script-map-draw-line = Line
script-map-draw-area = Area
script-map-draw-add-here = Add point here
script-map-draw-finish = Finish
script-map-draw-point-hint = Click the location. Keyboard: move the map with the arrow keys, then press Space.
script-map-draw-line-hint = Click each point. Double-click the last one to finish. Keyboard: move the map with the arrow keys, press Space to add a point, Enter to finish, Esc to start over.
script-map-draw-area-hint = Click each corner. Click the first one again to finish. Keyboard: move the map with the arrow keys, press Space to add a corner, Enter to finish, Esc to start over.
script-map-draw-edit-hint = Drag a corner to move it. Drag the point between two corners to add one. Right-click a corner to remove it.
script-map-undo = Undo
script-map-cancel = Cancel
script-map-done = Done

## Scripts: saving a shape

script-map-shape-new = New shape
script-map-shape-edit = Save changes
script-map-shape-saved = Shape saved.
script-map-folder = Folder
script-map-folders = Folders
script-map-folder-placeholder = Reference or name
script-map-folder-no-match = No matching folders
script-map-folder-not-selected = Select a folder from the list, or leave the field empty.
script-map-name = Name
script-map-optional = optional
script-map-save = Save
script-map-discard = Discard

## Scripts: sizes and coordinates

script-map-unit-m = { $value } m
script-map-unit-km = { $value } km
script-map-unit-m2 = { $value } m²
script-map-unit-ha = { $value } ha
script-map-unit-km2 = { $value } km²
script-map-latitude-north = { $value } N
script-map-latitude-south = { $value } S
script-map-longitude-east = { $value } E
script-map-longitude-west = { $value } W
script-map-area-and-perimeter = { $area }, perimeter { $perimeter }

"""Pages of projects."""

from django.urls import path

from projects.panel import views

app_name = "projects"

urlpatterns = [
    path("projects/", views.projects, name="list"),
    path("projects/new", views.create, name="create"),
    path("projects/<str:public_id>/", views.detail, name="detail"),
    path("projects/<str:public_id>/edit", views.edit, name="edit"),
    path("projects/<str:public_id>/archive", views.archive, name="archive"),
    path("projects/<str:public_id>/delete", views.delete, name="delete"),
]
